// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/reliability/go_back_n.h"

namespace verna {

void GoBackNSender::on_sent(uint32_t span) {
  const uint32_t left = psn_distance(next_, fresh_);
  next_ = psn_add(next_, span);
  if (span > left) fresh_ = next_;
}

uint32_t GoBackNSender::on_acked_before(uint32_t psn) {
  const uint32_t acked = psn_distance(oldest_, psn);
  // What is being sent again may arrive meanwhile: go on behind it.
  if (psn_distance(oldest_, next_) < acked) next_ = psn;
  oldest_ = psn;
  return acked;
}

void GoBackNSender::on_missing(uint32_t psn) {
  // What lies behind `next_` will be sent anyhow.
  if (psn_distance(oldest_, psn) < psn_distance(oldest_, next_)) next_ = psn;
}

void GoBackNReceiver::reset(uint32_t psn) {
  expected_ = psn;
  told_ = false;
}

ReceiverPolicy::Verdict GoBackNReceiver::classify(uint32_t psn) {
  if (psn == expected_) {
    told_ = false;
    return Verdict::kDeliver;
  }
  if (psn_before(psn, expected_)) return Verdict::kDuplicate;
  if (told_) return Verdict::kDrop;
  told_ = true;
  return Verdict::kReport;
}

std::unique_ptr<SenderPolicy> make_sender_policy() { return std::make_unique<GoBackNSender>(); }
std::unique_ptr<ReceiverPolicy> make_receiver_policy() {
  return std::make_unique<GoBackNReceiver>();
}

}  // namespace verna
