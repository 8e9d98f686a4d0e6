// SPDX-License-Identifier: GPL-2.0-or-later
// Responses of READs and atomics: remembered, sent in order, sent again for duplicates.
#pragma once

#include <vector>

#include "base/psn.h"
#include "rdma/ack.h"
#include "rdma/qp_context.h"

namespace verna {

/// A READ or atomic that was accepted. It is remembered after it was answered, so that a duplicate
/// gets the same answer without being executed again.
struct ResponderResource {
  uint32_t first_psn;
  uint32_t span;  // sequence numbers
  uint32_t msn;   // after this request
  bool atomic;
  bool pending;  // part of the answer is to be sent
  uint32_t rkey;
  uint64_t va;  // READ: of the whole request
  uint32_t length;
  uint64_t original;  // atomic

  // What is being answered: a duplicate may ask for a part only.
  uint32_t next_psn;
  uint64_t next_va;
  uint32_t left;
  bool started;   // FIRST was sent
  bool again;     // for a duplicate
  bool answered;  // all of the answer was sent at least once
};

/// The table of the last max_dest_rd_atomic READs and atomics, and the sender of everything that a
/// responder sends: responses in order of their sequence numbers, then the acknowledgement.
class Responses {
 public:
  static constexpr uint32_t kMax = 128;

  explicit Responses(QpContext& context) : ctx_(context) {}

  AckState& ack() { return ack_; }
  const AckState& ack() const { return ack_; }

  /// Room for one more. False: the requester has more in flight than was agreed on.
  bool has_room() const;
  /// A new READ or atomic; its answer goes out as the wire has room.
  void add_read(uint32_t psn, uint32_t span, uint32_t msn, uint32_t rkey, uint64_t va,
                uint32_t length);
  void add_atomic(uint32_t psn, uint32_t msn, uint64_t original);
  /// A duplicate READ: answers it again if it is a part of one that is remembered.
  bool repeat_read(const RocePacket& packet);
  bool repeat_atomic(const RocePacket& packet);

  bool has_output() const { return pending_ > 0 || ack_.pending(); }
  /// Sends. `executed` is the last sequence number that was executed, `msn` the count of messages.
  TxSource::Result transmit(int64_t* budget, uint32_t executed, uint32_t msn, Nanos now);
  void reset();

 private:
  enum class Step { kSent, kWireFull, kFailed };

  ResponderResource& slot(uint32_t i) { return table_[i % kMax]; }
  ResponderResource* find(uint32_t psn);
  ResponderResource& append();
  void mark_pending(ResponderResource* resource, bool pending);
  void finish(ResponderResource* resource);
  ResponderResource* oldest_pending();
  Step send_response(ResponderResource& resource, int64_t* budget);
  Step send_read_part(ResponderResource& resource, int64_t* budget);
  Step send_atomic(ResponderResource& resource, int64_t* budget);
  Step send_ack(uint32_t executed, uint32_t msn, int64_t* budget);
  void count_ack();

  QpContext& ctx_;
  AckState ack_;
  std::vector<ResponderResource> table_;  // kMax entries, made for the first READ or atomic
  uint32_t begin_ = 0;                    // remembered are [begin_, end_)
  uint32_t end_ = 0;
  uint32_t pending_ = 0;
};

}  // namespace verna
