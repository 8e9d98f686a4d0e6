// SPDX-License-Identifier: GPL-2.0-or-later
// Go-back-N: after a loss everything from the lost packet on is sent again.
#pragma once

#include "rdma/reliability/policy.h"

namespace verna {

class GoBackNSender final : public SenderPolicy {
 public:
  void reset(uint32_t psn) override { oldest_ = next_ = fresh_ = psn; }
  uint32_t next() const override { return next_; }
  bool again() const override { return next_ != fresh_; }
  void on_sent(uint32_t span) override;
  uint32_t oldest() const override { return oldest_; }
  uint32_t fresh() const override { return fresh_; }
  uint32_t on_acked_before(uint32_t psn) override;
  void on_missing(uint32_t psn) override;
  void on_timeout() override { next_ = oldest_; }

 private:
  uint32_t oldest_ = 0;
  uint32_t next_ = 0;  // in [oldest_, fresh_]
  uint32_t fresh_ = 0;
};

class GoBackNReceiver final : public ReceiverPolicy {
 public:
  void reset(uint32_t psn) override;
  Verdict classify(uint32_t psn) override;
  void on_executed(uint32_t span) override { expected_ = psn_add(expected_, span); }
  void on_refused() override { told_ = true; }
  uint32_t expected() const override { return expected_; }

 private:
  uint32_t expected_ = 0;
  bool told_ = false;  // the sender knows that expected_ is missing; one NAK is enough
};

}  // namespace verna
