// SPDX-License-Identifier: GPL-2.0-or-later
// Frames from a hostile wire. The input is a list of frames: raw ones, RoCE packets of which every
// field comes from the input and half of which get a right ICRC, and TCP segments of a few flows
// that the card may merge. All DMA must stay inside of memory that was registered, and every frame
// must be counted exactly once.
#include <algorithm>

#include "fuzz/fuzz_card.h"
#include "support/ip_packet.h"

namespace verna::fuzz {
namespace {

using test::RocePacket;

enum Kind : uint8_t { kRaw, kRoce, kRoceDamaged, kTime, kPostSend, kSegments, kFeatures, kKinds };

RocePacket take_packet(Input& in, Rig& rig) {
  const uint8_t shape = in.byte();
  const bool datagram = shape & 1;
  RocePacket p = rig.packet(datagram ? rig.ud : rig.rc, in.byte(), test::RdmaRig::kPsn);
  p.psn = (p.psn + static_cast<uint32_t>(static_cast<int8_t>(in.byte()))) & 0xffffff;
  p.ack_req = shape & 2;
  p.solicited = shape & 4;
  p.va = rig.mr->iova + in.take<uint16_t>();
  p.rkey = shape & 8 ? in.take<uint32_t>() : rig.mr->key;
  p.dma_len = in.take<uint16_t>();
  p.swap_add = in.byte();
  p.compare = in.byte();
  p.syndrome = in.byte();
  p.msn = in.byte();
  p.ieth = shape & 16 ? rig.mr->key : in.byte();
  if (shape & 32) p.va = in.take<uint64_t>();
  if (shape & 64) p.dma_len = in.take<uint32_t>();
  if (shape & 128) p.pad = in.byte() & 3;
  p.payload = in.bytes(in.take<uint16_t>() % 600);
  return p;
}

void damage(Input& in, Bytes* frame) {
  const uint8_t how = in.byte();
  for (unsigned i = 0; i < (how & 7u); i++) {
    const size_t at = in.take<uint16_t>() % frame->size();
    (*frame)[at] = in.byte();
  }
  if (how & 8) frame->resize(14 + in.take<uint16_t>() % (frame->size() - 13));
  if (how & 16) frame->resize(frame->size() + in.byte());
  if (how & 32) test::fix_icrc(frame);
}

/// Segments that follow one another, then something about one of them.
void send_segments(Input& in, Rig& rig) {
  test::IpPacket p;
  std::copy_n(rig.card.mac, 6, p.dmac);
  const uint8_t shape = in.byte();
  p.ip.v6 = shape & 1;
  if (shape & 2) {
    p.outer.emplace();
    p.outer->v6 = shape & 4;
    p.tunnel = static_cast<test::IpPacket::Tunnel>((shape >> 3) % 5);
  }
  if (shape & 0x40) p.tags = {{0x8100, in.byte()}};
  if (shape & 0x80) p.tags.push_back({0x88a8, in.byte()});
  p.sport = in.byte() & 3;
  const uint8_t count = 1 + in.byte() % 8;
  p.seq = uint32_t{in.byte()} << 24;
  p.payload = in.bytes(in.byte());
  const uint8_t special = in.byte();
  for (uint8_t i = 0; i < count; i++) {
    test::IpPacket q = p;
    if (i == special % 8) q.flags = in.byte();
    Bytes frame = q.build();
    if (i == special / 8 % 8) damage(in, &frame);
    rig.wire.to_a.send(std::move(frame));
    p.seq += static_cast<uint32_t>(p.payload.size());
    p.ip.id++;
    if (p.outer) p.outer->id = static_cast<uint16_t>(p.outer->id + (special & 1));
  }
}

void set_features(Input& in, Rig& rig) {
  verna_cmd_eth_features command{};
  command.features = in.byte();
  command.merge_ns = in.byte() & 1 ? 0 : in.take<uint16_t>();
  command.merge_bytes = in.take<uint16_t>();
  rig.card.driver.execute(VERNA_CMD_SET_ETH_FEATURES, command);
}

void step(Input& in, Rig& rig) {
  switch (in.byte() % kKinds) {
    case kRaw: {
      Bytes frame = in.bytes(in.take<uint16_t>() % 1600);
      rig.wire.to_a.send(std::move(frame));
      break;
    }
    case kRoce:
      rig.inject(take_packet(in, rig));
      break;
    case kRoceDamaged: {
      Bytes frame = take_packet(in, rig).build();
      damage(in, &frame);
      rig.inject(std::move(frame));
      break;
    }
    case kTime:
      rig.world.run_for(uint64_t{in.byte()} * 10'000);
      break;
    case kSegments:
      send_segments(in, rig);
      break;
    case kFeatures:
      set_features(in, rig);
      break;
    default: {
      // Something outstanding, so that responses have something to answer.
      test::SendWr wr;
      const uint8_t opcode = in.byte() % 8;
      wr.opcode = opcode;
      wr.remote_addr = 0x1000;
      wr.sges = {rig.mr->sge(4096, opcode == VERNA_WR_ATOMIC_CAS || opcode == VERNA_WR_ATOMIC_FADD
                                       ? 8
                                       : in.take<uint16_t>() % 2048)};
      if (rig.rc->sq.prod < 32) rig.card.driver.post_send(rig.rc, wr);
      break;
    }
  }
  rig.world.settle(2000);
  rig.repost();
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> out;
  for (unsigned opcode = 0; opcode < 0x18; opcode++) {
    // kRoce, shape, opcode, PSN + 0, va 0, length 16, ..., 16 bytes of payload.
    Bytes s = {kRoce, 2, static_cast<uint8_t>(opcode), 0, 0, 0, 16, 0, 1, 2, 0x1f, 0, 0, 16, 0};
    s.insert(s.end(), 16, 0x42);
    out.push_back(s);
    // The same behind an outstanding READ, atomic and SEND of ours.
    Bytes t = {kPostSend, 5, 0, 1, kPostSend, 6, kPostSend, 0, 16, 0};
    t.insert(t.end(), s.begin(), s.end());
    out.push_back(t);
  }
  for (uint8_t shape = 0; shape < 8; shape++) {
    Bytes s = {kFeatures, VERNA_ETH_ON_MERGE | VERNA_ETH_ON_MERGE_IDS, 1, 0, 0};
    for (const uint8_t number : {0, 1})
      s.insert(s.end(), {kSegments, shape, 1, 7, number, 20, 9, 9, 9, 9, 9, 9,    9, 9, 9,
                         9,         9,     9, 9, 9,      9,  9, 9, 9, 9, 9, 0xff, 0, 0});
    out.push_back(s);
  }
  out.push_back({kRoce, 1, 0x64, 0, 0, 0, 16, 0, 1, 2, 0x1f, 0, 0, 4, 0, 1, 2, 3, 4});
  return out;
}

}  // namespace
}  // namespace verna::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  verna::fuzz::plant_seeds(*argc, *argv, verna::fuzz::seeds());
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  verna::fuzz::Rig rig;
  verna::fuzz::Input in(data, size);
  for (int steps = 0; !in.empty() && steps < 64; steps++) verna::fuzz::step(in, rig);
  rig.end_merging();
  rig.all_sent();
  verna::fuzz::check(rig);
  return 0;
}
