// SPDX-License-Identifier: GPL-2.0-or-later
// One card whose wire ends in the test: every packet is made and judged by hand.
#pragma once

#include <optional>

#include "support/packet_builder.h"
#include "support/world.h"

namespace verna::test {

class RdmaRig {
 public:
  static constexpr uint32_t kPeerQpn = 0x4711;
  static constexpr uint32_t kPsn = 0x123456;  // of both directions
  static constexpr uint32_t kQkey = 0x11112222;
  static constexpr uint8_t kFullAccess = VERNA_ACCESS_LOCAL_WRITE | VERNA_ACCESS_REMOTE_WRITE |
                                         VERNA_ACCESS_REMOTE_READ | VERNA_ACCESS_REMOTE_ATOMIC;

  explicit RdmaRig(NicConfig config = {});

  /// A QP of the type connected to the peer (UD: with kQkey), with CQs of its own.
  QueuePair* make_qp(uint8_t type, const Connection& how = {}, uint8_t state = VERNA_QPS_RTS,
                     QpOptions options = {});
  Region* make_mr(uint64_t len, uint8_t access = kFullAccess, const BufferShape& shape = {}) {
    return card.driver.create_mr(pd, len, access, shape);
  }

  /// A packet from the peer to `qp` with everything right that the opcode does not decide.
  RocePacket packet(const QueuePair* qp, uint8_t opcode, uint32_t psn, Bytes payload = {}) const;
  void inject(const RocePacket& p) { inject(p.build()); }
  void inject(Bytes frame);
  /// inject() and run until everything that follows at once has happened.
  void deliver(const RocePacket& p);
  void deliver(Bytes frame);

  /// The next frame that the card sent, after letting it work. Nothing: it sent none.
  std::optional<RocePacket> sent();
  std::vector<RocePacket> all_sent();
  /// Sent frames that were no RoCE frames.
  unsigned other_frames = 0;

  std::optional<verna_cqe> completion(RingHandle* cq);
  uint8_t state(const QueuePair* qp) { return card.driver.query_qp(qp->qpn).state; }
  /// Events of EQ 0 since the last call.
  std::vector<verna_eqe> events();
  bool saw_event(verna_event_type type, uint32_t id);

  World world;
  Wire wire;
  TestCard card;
  PeerAddress peer{9};
  uint32_t pd = 0;

 private:
  void collect();
  std::vector<RocePacket> sent_;
  size_t next_sent_ = 0;
};

}  // namespace verna::test
