// SPDX-License-Identifier: GPL-2.0-or-later
// A process that writes what it likes into its own queues, records and doorbell page, and changes
// entries right after the card has read them. Only its own queue pair may suffer, and no DMA may
// leave the memory that its regions grant.
#include "fuzz/fuzz_card.h"
#include "support/fail.h"

namespace verna::fuzz {
namespace {

enum Kind : uint8_t {
  kSendEntry,
  kRecvEntry,
  kTxEntry,
  kRxEntry,
  kIndex,
  kDoorbell,
  kTime,
  kAck,
  kKinds
};

/// Fields that would be right, then bytes of the input over them.
void write_send(Input& in, Rig& rig, test::QueuePair* qp) {
  test::SendWr wr;
  wr.opcode = in.byte() % 10;
  wr.flags = in.byte() & 0x1f;
  wr.remote_addr = rig.mr->iova + in.byte();
  wr.rkey = rig.mr->key;
  wr.remote_qpn = qp->qpn;
  wr.remote_qkey = test::RdmaRig::kQkey;
  // Sometimes to ourselves, so that requester and responder meet in one card.
  wr.av =
      test::make_av(in.byte() % 2 ? rig.peer : static_cast<test::PeerAddress&>(rig.card), false, 0);
  for (unsigned i = in.byte() % 4; i > 0; i--) {
    wr.sges.push_back(rig.mr->sge(in.take<uint16_t>(), in.take<uint16_t>()));
  }
  wr.inline_data = in.bytes(in.byte());
  const uint64_t entry = qp->sq.entry(qp->sq.prod);
  rig.card.driver.post_send(qp, wr, false);
  for (unsigned i = in.byte() % 4; i > 0; i--) {
    *rig.card.bus.ptr(entry + in.take<uint16_t>() % 512) = in.byte();
  }
}

void write_entry(Input& in, Rig& rig, test::WqHandle* wq) {
  const Bytes raw = in.bytes(size_t{1} << wq->log_stride);
  std::copy(raw.begin(), raw.end(), rig.card.bus.ptr(wq->entry(wq->prod), raw.size()));
  wq->prod++;
}

void step(Input& in, Rig& rig) {
  test::WqHandle* queues[] = {&rig.rc->sq, &rig.rc->rq,  &rig.ud->sq,
                              &rig.ud->rq, &rig.txq->wq, &rig.rxq->wq};
  switch (in.byte() % kKinds) {
    case kSendEntry: {
      test::QueuePair* qp = in.byte() % 2 ? rig.rc : rig.ud;
      write_send(in, rig, qp);
      rig.card.driver.publish(&qp->sq);
      break;
    }
    case kRecvEntry: {
      test::QueuePair* qp = in.byte() % 2 ? rig.rc : rig.ud;
      write_entry(in, rig, &qp->rq);
      rig.card.driver.publish(&qp->rq);
      break;
    }
    case kTxEntry:
      write_entry(in, rig, &rig.txq->wq);
      rig.card.driver.publish(&rig.txq->wq);
      break;
    case kRxEntry:
      write_entry(in, rig, &rig.rxq->wq);
      rig.card.driver.publish(&rig.rxq->wq);
      break;
    case kIndex: {
      test::WqHandle* wq = queues[in.byte() % 6];
      wq->mem->store<uint32_t>(wq->rec, wq->prod + static_cast<uint32_t>(in.take<int32_t>()));
      break;
    }
    case kDoorbell: {
      test::WqHandle* wq = queues[in.byte() % 6];
      rig.card.ring_doorbell(in.byte() % 4 ? wq->uar : in.byte(),
                             VERNA_DB(in.byte() % 6, in.byte() % 4 ? wq->id : in.take<uint32_t>()));
      break;
    }
    case kAck: {
      test::RocePacket p = rig.packet(rig.rc, test::kRcAck, test::RdmaRig::kPsn + in.byte() % 16);
      p.syndrome = in.byte();
      rig.inject(p);
      break;
    }
    default:
      rig.world.run_for(uint64_t{in.byte()} * 20'000);
  }
  rig.world.settle(2000);
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> out;
  for (uint8_t qp = 0; qp < 2; qp++) {
    for (uint8_t opcode = 0; opcode < 9; opcode++) {
      // kSendEntry, QP, opcode, flags, offset, to, one segment of 16 bytes, no inline, no damage.
      out.push_back({kSendEntry, qp, opcode, 1, 0, 0, 1, 0, 0, 16, 0, 0, 0, kTime, 9});
      out.push_back({kSendEntry, qp, opcode, 9, 0, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, kTime, 9});
    }
  }
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
  verna::fuzz::Rig rig;
  // Ethernet descriptors name bus addresses themselves: those may fail, RDMA's never.
  rig.card.bus.expect_faults();
  const uint8_t flip = in.byte();
  // The queue, but not its records.
  const uint64_t first = rig.rc->mem.at(0), last = first + rig.rc->mem.length();
  verna::fuzz::change_what_was_read(rig.card.bus, flip, first + 256, last);
  for (int steps = 0; !in.empty() && steps < 48; steps++) verna::fuzz::step(in, rig);
  rig.all_sent();
  verna::fuzz::check(rig);
  return 0;
}
