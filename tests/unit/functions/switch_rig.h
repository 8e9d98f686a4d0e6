// SPDX-License-Identifier: GPL-2.0-or-later
// A card with VFs, each with a driver of its own, and a wire that ends in the test.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "hw/verna_vport.h"
#include "support/ip_packet.h"
#include "support/packet_builder.h"
#include "support/world.h"

namespace verna::test {

/// A function that sends and receives Ethernet by one queue each way.
class Station {
 public:
  static constexpr uint32_t kBuffers = 60;
  static constexpr uint32_t kBufferBytes = 2048;
  Station(World& world, MiniDriver& driver, FakeHostBus& bus, const PeerAddress& address);

  /// Loads the driver, as after a reset: queues, buffers, receive mode.
  void bring_up();
  /// Only the queues, of this number, and the buffers.
  void make_queues(uint32_t number);
  /// From its own address unless `frame` says otherwise.
  void send(const Bytes& frame);
  /// A packet of TCP over IPv4 without options, which the card cuts into segments of `mss` bytes.
  void send_large(const Bytes& packet, uint16_t mss);
  /// What has arrived since the last call. The buffers go back to the card.
  std::vector<Bytes> received();
  Bytes frame_to(const uint8_t (&dmac)[6], size_t len = 100, uint64_t seed = 1) const {
    return ethernet_frame(dmac, address.mac, 0x88b5, pattern(len - 14, seed));
  }
  bool link_up() { return (driver.reg(VERNA_REG_STATUS) & VERNA_STATUS_LINK_UP) != 0; }

  World& world;
  MiniDriver& driver;
  FakeHostBus& bus;
  const PeerAddress& address;
  RingHandle* tx_cq = nullptr;
  RingHandle* rx_cq = nullptr;
  EthQueue* txq = nullptr;
  EthQueue* rxq = nullptr;
  std::vector<verna_cqe> cqes;  // of what received() returned last

 private:
  void post(uint64_t buffer);
  std::vector<uint64_t> by_slot_;
};

inline NicConfig with_vfs(uint16_t num_vfs) {
  NicConfig config;
  config.num_vfs = num_vfs;
  return config;
}

/// The PF and three VFs of four are there, and drivers are loaded.
struct SwitchRig : testing::Test {
  static constexpr uint16_t kVfs = 3;
  explicit SwitchRig(const NicConfig& config = with_vfs(kVfs + 1));
  void TearDown() override;

  /// Lets everything happen that follows at once.
  void settle() { world.settle(50 * kMicro); }
  /// What went out by the wire since the last call, without FCS.
  std::vector<Bytes> on_wire();
  void inject(const Bytes& frame) { wire.to_a.send(frame); }
  /// Nobody else got anything since the last call.
  void expect_silence();
  uint64_t vport(uint16_t number, verna_vport_counter c) const {
    return card.vport_counter(number, c);
  }
  /// SET_VPORT by the PF.
  Reply set_vport(FunctionId fn, verna_cmd_set_vport command) {
    return card.driver.execute_for(fn, VERNA_CMD_SET_VPORT, command);
  }
  Reply set_vlan(FunctionId fn, uint16_t vlan, uint8_t qos = 0);

  World world;
  Wire wire{world.clock};
  TestCard card;
  PeerAddress peer{9};
  std::deque<Station> stations;  // by function
  Station& pf;
  Station& vf1;
  Station& vf2;
  Station& vf3;
};

inline constexpr uint8_t kEverybody[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/// `frame` with an 802.1Q tag.
Bytes tagged(const Bytes& frame, uint16_t tci);

}  // namespace verna::test
