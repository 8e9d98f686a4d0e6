// SPDX-License-Identifier: GPL-2.0-or-later
// Reliability policies: pure bookkeeping of packet sequence numbers. They build no packets, touch
// no memory of the host and read no clock. Requester, responder and completer work through these
// two interfaces and never ask which policy is set.
#pragma once

#include <memory>

#include "base/psn.h"

namespace verna {

/// The sender's side: what goes next, and what is known to have arrived. A packet usually takes one
/// sequence number; a READ request takes as many as it will have responses.
class SenderPolicy {
 public:
  virtual ~SenderPolicy() = default;

  /// Nothing was sent; the first packet is `psn`.
  virtual void reset(uint32_t psn) = 0;

  /// The packet that goes next: a lost one, else the first that was never sent.
  virtual uint32_t next() const = 0;
  /// next() was sent before.
  virtual bool again() const = 0;
  /// next() was sent and takes `span` sequence numbers.
  virtual void on_sent(uint32_t span) = 0;

  /// Oldest sequence number that is not acknowledged, and the first that was never sent.
  virtual uint32_t oldest() const = 0;
  virtual uint32_t fresh() const = 0;

  /// Everything before `psn` has arrived; `psn` lies in [oldest(), fresh()]. Returns how many
  /// numbers that acknowledges.
  virtual uint32_t on_acked_before(uint32_t psn) = 0;
  /// The packet `psn` in [oldest(), fresh()) is missing at the peer.
  virtual void on_missing(uint32_t psn) = 0;
  /// Nothing was heard of for too long.
  virtual void on_timeout() = 0;

  uint32_t outstanding() const { return psn_distance(oldest(), fresh()); }
  bool in_flight(uint32_t psn) const { return psn_distance(oldest(), psn) < outstanding(); }
};

/// The receiver's side: what to do with a request packet, and what to acknowledge.
class ReceiverPolicy {
 public:
  enum class Verdict {
    kDeliver,    // execute it now
    kDuplicate,  // executed before
    kReport,     // something before it is missing: drop it and tell the sender what
    kDrop,       // the same, but the sender was told
  };
  virtual ~ReceiverPolicy() = default;

  virtual void reset(uint32_t psn) = 0;
  virtual Verdict classify(uint32_t psn) = 0;
  /// The packet that classify() delivered was executed and takes `span` numbers.
  virtual void on_executed(uint32_t span) = 0;
  /// It was refused for now (RNR); it will be sent again, and with it what follows.
  virtual void on_refused() = 0;
  /// The first sequence number that was not executed. All before it are acknowledged together.
  virtual uint32_t expected() const = 0;
};

/// The default of every queue pair: what RoCEv2 peers speak.
std::unique_ptr<SenderPolicy> make_sender_policy();
std::unique_ptr<ReceiverPolicy> make_receiver_policy();

}  // namespace verna
