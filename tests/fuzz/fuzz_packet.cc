// SPDX-License-Identifier: GPL-2.0-or-later
// Frames from a hostile wire. The input is a list of frames: raw ones, and RoCE packets of which
// every field comes from the input; half of them get a right ICRC. All DMA must stay inside of
// memory that was registered, and every frame must be counted exactly once.
#include "fuzz/fuzz_card.h"

namespace verna::fuzz {
namespace {

using test::RocePacket;

enum Kind : uint8_t { kRaw, kRoce, kRoceDamaged, kTime, kPostSend, kKinds };

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
  rig.all_sent();
  verna::fuzz::check(rig);
  return 0;
}
