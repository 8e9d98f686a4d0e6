// SPDX-License-Identifier: GPL-2.0-or-later
// A card that merges, and a naive GSO that undoes it.
#pragma once

#include <algorithm>

#include "eth/eth_rig.h"
#include "support/ip_packet.h"

namespace verna::test {

inline constexpr uint32_t kMergeAll =
    VERNA_ETH_ON_MERGE | VERNA_ETH_ON_MERGE_CWR | VERNA_ETH_ON_MERGE_IDS;

struct MergeRig : EthRig {
  struct Packet {
    verna_cqe cqe;
    Bytes bytes;
    size_t payload() const;  // TCP payload bytes; 0 if it is no TCP
  };

  bool set_features(uint32_t features, uint32_t merge_ns = 0, uint32_t merge_bytes = 0) {
    verna_cmd_eth_features cmd{};
    cmd.features = features;
    cmd.merge_ns = merge_ns;
    cmd.merge_bytes = merge_bytes;
    return card.driver.execute(VERNA_CMD_SET_ETH_FEATURES, cmd).ok();
  }
  /// A larger ring with its buffers posted.
  void big_queue(uint8_t log_size, uint32_t buffer_bytes);
  void post(uint32_t count);
  /// All at once, so that the card finds them in one batch.
  void send(const std::vector<Bytes>& frames) {
    for (const Bytes& frame : frames) wire.to_a.send(frame);
  }
  /// What was delivered since the last call.
  std::vector<Packet> take();
  std::vector<size_t> payloads(const std::vector<Bytes>& frames);

  uint32_t buffer_bytes = 0;
  std::vector<uint64_t> buffers;  // by free-running index
};

/// Cuts a merged packet as the host's GSO would; one that is not merged is returned as it is.
std::vector<Bytes> segment(const MergeRig::Packet& packet, bool keep_cwr);

/// Where the TCP header of a frame is, maybe inside of IP in IP; 0: there is none. `ips`: offsets
/// of the IP headers.
size_t tcp_offset(const Bytes& frame, std::vector<size_t>* ips);
/// The frame without what a MAC padded.
Bytes unpadded(const Bytes& frame);

}  // namespace verna::test
