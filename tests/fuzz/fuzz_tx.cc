// SPDX-License-Identifier: GPL-2.0-or-later
// A driver that asks for any offload of any packet: first right requests, then bytes of the input
// over descriptor and headers, in any number of pieces, on a wire that fills up, goes down and
// comes back, with memory that changes after it was read. Every packet has to be completed once.
#include <algorithm>

#include "eth/tso_model.h"
#include "fuzz/fuzz_card.h"
#include "support/fail.h"

namespace verna::fuzz {
namespace {

enum Kind : uint8_t { kCut, kSum, kRaw, kWire, kTake, kTime, kKinds };

struct TxFuzz {
  explicit TxFuzz(Input& input) : in(input) {}

  void damage(uint8_t* bytes, size_t size, unsigned most) {
    for (unsigned i = in.byte() % (most + 1); i > 0; i--)
      bytes[in.take<uint16_t>() % size] = in.byte();
  }
  /// In up to four pieces, all of which are memory unless the input says otherwise.
  void post(verna_tx_desc request, const Bytes& packet) {
    if (packet.empty() || rig.txq->wq.prod - done >= 12) return;
    const size_t pieces = 1 + in.byte() % 4;
    for (size_t i = 0, from = 0; i < pieces; i++) {
      const size_t to = i + 1 == pieces ? packet.size() : from + in.byte() % (packet.size() - from);
      verna_tx_desc d = i ? verna_tx_desc{} : request;
      d.addr = in.byte() == 0xff ? 0xfee00000 : buffer + from;
      d.len = static_cast<uint32_t>(to - from);
      if (i + 1 == pieces) d.flags |= VERNA_TX_F_EOP;
      std::memcpy(rig.card.bus.ptr(rig.txq->wq.entry(rig.txq->wq.prod), sizeof d), &d, sizeof d);
      rig.txq->wq.prod++;
      from = to;
    }
    rig.card.bus.fill(buffer, packet);
    rig.card.driver.publish(&rig.txq->wq);
  }

  void cut() {
    std::mt19937_64 random(in.take<uint16_t>());
    test::TsoCase c = test::make_case(test::random_spec(random, 3000, 1522));
    damage(reinterpret_cast<uint8_t*>(&c.request) + 12, 20, 3);
    damage(c.packet.data(), std::min<size_t>(c.packet.size(), 200), 3);
    c.request.flags &= static_cast<uint16_t>(~VERNA_TX_F_EOP);
    post(c.request, c.packet);
  }
  void sum() {
    verna_tx_desc d{};
    d.flags = in.take<uint16_t>() & 0x1e;
    d.csum_start = in.byte();
    d.csum_offset = in.byte();
    if (d.flags & (VERNA_TX_F_VLAN | VERNA_TX_F_SVLAN)) d.vlan_tci = in.byte();
    post(d, Bytes(in.take<uint16_t>() % 1600, 0x5a));
  }
  void raw() {
    verna_tx_desc d{};
    const Bytes bytes = in.bytes(20);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(&d) + 12);
    d.flags &= static_cast<uint16_t>(~VERNA_TX_F_EOP);
    post(d, in.bytes(200));
  }
  void step() {
    switch (in.byte() % kKinds) {
      case kCut:
        return cut();
      case kSum:
        return sum();
      case kRaw:
        return raw();
      case kWire:
        rig.wire.a.block_tx = in.byte() & 1;
        rig.wire.a.up = in.byte() % 8 != 0;
        rig.wire.to_b.impairment.max_queued = 1 + in.byte() % 32;
        return;
      case kTake:
        rig.all_sent();
        return;
      default:
        rig.world.run_for(uint64_t{in.byte()} * 5'000);
    }
  }
  void collect() {
    verna_cqe cqe;
    while (rig.card.driver.poll(rig.txq->cq, &cqe)) {
      if (cqe.wqe_index - done >= rig.txq->wq.prod - done) test::fail("a completion out of place");
      done = cqe.wqe_index + 1;
    }
  }
  void finish() {
    rig.wire.a.block_tx = false;
    rig.wire.a.up = true;
    rig.wire.to_b.impairment.max_queued = 1u << 20;
    rig.world.run_for(50 * test::kMilli);
    collect();
    if (done != rig.txq->wq.prod) test::fail("a packet was not completed");
    rig.all_sent();
  }

  Input& in;
  Rig rig;
  uint64_t buffer = rig.card.bus.alloc(16384);
  uint32_t done = 0;
};

std::vector<Bytes> seeds() {
  std::vector<Bytes> out;
  for (uint8_t n = 0; n < 64; n++) out.push_back({0, kCut, n, 0, 0, 0, n, 40, 1, 90, 1, kTime, 9});
  for (uint8_t flags = 0; flags < 32; flags += 2)
    out.push_back({0, kSum, flags, 0, 34, 6, 100, 1, 0, 0, kTime, 9});
  return out;
}

}  // namespace
}  // namespace verna::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  verna::fuzz::plant_seeds(*argc, *argv, verna::fuzz::seeds());
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  verna::fuzz::Input in(data, size);
  verna::fuzz::TxFuzz fuzz(in);
  verna::test::FakeHostBus& bus = fuzz.rig.card.bus;
  bus.expect_faults();
  verna::fuzz::change_what_was_read(bus, in.byte(), fuzz.buffer, fuzz.buffer + 16384);
  for (int steps = 0; !in.empty() && steps < 48; steps++) {
    fuzz.step();
    fuzz.rig.world.settle(2000);
    fuzz.collect();
  }
  fuzz.finish();
  verna::fuzz::check(fuzz.rig);
  return 0;
}
