// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/merge_rig.h"

namespace verna::test {
namespace {

uint32_t get16(const Bytes& b, size_t at) { return b[at] * 256u + b[at + 1]; }
uint32_t get32(const Bytes& b, size_t at) { return get16(b, at) << 16 | get16(b, at + 2); }
void set16(Bytes* b, size_t at, uint32_t v) {
  (*b)[at] = static_cast<uint8_t>(v >> 8);
  (*b)[at + 1] = static_cast<uint8_t>(v);
}
void set32(Bytes* b, size_t at, uint32_t v) {
  set16(b, at, v >> 16);
  set16(b, at + 2, v);
}
bool v4(const Bytes& b, size_t ip) { return b[ip] >> 4 == 4; }

/// Sets lengths and checksums of a frame whose headers are otherwise right.
void finish(Bytes* f, const std::vector<size_t>& ips, size_t tcp) {
  for (const size_t ip : ips) {
    if (!v4(*f, ip)) {
      set16(f, ip + 4, static_cast<uint32_t>(f->size() - ip - 40));
      continue;
    }
    set16(f, ip + 2, static_cast<uint32_t>(f->size() - ip));
    set16(f, ip + 10, 0);
    set16(f, ip + 10, ~naive_sum(f->data() + ip, 20) & 0xffffu);
  }
  const size_t ip = ips.back();
  const size_t len = f->size() - tcp;
  Bytes pseudo(f->begin() + static_cast<long>(ip + (v4(*f, ip) ? 12 : 8)),
               f->begin() + static_cast<long>(ip + (v4(*f, ip) ? 20 : 40)));
  pseudo.resize(pseudo.size() + 4);
  set32(&pseudo, pseudo.size() - 4, static_cast<uint32_t>(len + 6));
  set16(f, tcp + 16, 0);
  const uint16_t start = naive_sum(pseudo.data(), pseudo.size());
  set16(f, tcp + 16, ~naive_sum(f->data() + tcp, len, start) & 0xffffu);
}

}  // namespace

size_t tcp_offset(const Bytes& f, std::vector<size_t>* ips) {
  size_t at = 12;
  while (get16(f, at) == 0x8100 || get16(f, at) == 0x88a8) at += 4;
  if (get16(f, at) != 0x0800 && get16(f, at) != 0x86dd) return 0;
  at += 2;
  for (;;) {
    ips->push_back(at);
    uint8_t next;
    if (v4(f, at)) {
      next = f[at + 9];
      at += (f[at] & 15u) * 4;
    } else {
      next = f[at + 6];
      at += 40;
      while (next == 0 || next == 44 || next == 60) {
        next = f[at];
        at += (f[at + 1] + 1u) * 8;
      }
    }
    if (next == 6) return at;
    if (next != 4 && next != 41) return 0;
  }
}

Bytes unpadded(const Bytes& frame) {
  std::vector<size_t> ips;
  if (!tcp_offset(frame, &ips)) return frame;
  const size_t ip = ips[0];
  const size_t end = v4(frame, ip) ? ip + get16(frame, ip + 2) : ip + 40 + get16(frame, ip + 4);
  return Bytes(frame.begin(), frame.begin() + static_cast<long>(std::min(end, frame.size())));
}

size_t MergeRig::Packet::payload() const {
  std::vector<size_t> ips;
  const Bytes f = unpadded(bytes);
  const size_t tcp = tcp_offset(f, &ips);
  return tcp ? f.size() - tcp - (f[tcp + 12] >> 4) * 4u : 0;
}

std::vector<Bytes> segment(const MergeRig::Packet& packet, bool keep_cwr) {
  const verna_cqe& cqe = packet.cqe;
  if (cqe.gro_segs < 2) return {packet.bytes};
  std::vector<size_t> ips;
  const size_t tcp = tcp_offset(packet.bytes, &ips);
  EXPECT_NE(tcp, 0u);
  const size_t header = tcp + (packet.bytes[tcp + 12] >> 4) * 4u;
  std::vector<Bytes> out;
  for (size_t at = header; at < packet.bytes.size(); at += cqe.gro_size) {
    const size_t n = std::min<size_t>(cqe.gro_size, packet.bytes.size() - at);
    const bool last = at + n == packet.bytes.size();
    Bytes f(packet.bytes.begin(), packet.bytes.begin() + static_cast<long>(header));
    f.insert(f.end(), packet.bytes.begin() + static_cast<long>(at),
             packet.bytes.begin() + static_cast<long>(at + n));
    for (size_t i = 0; i < ips.size(); i++) {
      const bool fixed =
          cqe.rx_flags & (i == 0 ? VERNA_CQE_RX_FIXED_ID : VERNA_CQE_RX_INNER_FIXED_ID);
      if (v4(f, ips[i]) && !fixed)
        set16(&f, ips[i] + 4, get16(f, ips[i] + 4) + static_cast<uint32_t>(out.size()));
    }
    set32(&f, tcp + 4, get32(f, tcp + 4) + static_cast<uint32_t>(at - header));
    if (!last) f[tcp + 13] &= static_cast<uint8_t>(~(kFin | kPsh));
    if (!out.empty() && !keep_cwr) f[tcp + 13] &= static_cast<uint8_t>(~kCwr);
    finish(&f, ips, tcp);
    out.push_back(std::move(f));
  }
  EXPECT_EQ(out.size(), cqe.gro_segs);
  return out;
}

void MergeRig::big_queue(uint8_t log_size, uint32_t size) {
  card.driver.object(VERNA_CMD_DESTROY_RXQ, 0);
  rx_cq = card.driver.create_cq(static_cast<uint8_t>(log_size + 1));
  rxq = card.driver.create_rxq(0, rx_cq, log_size);
  buffer_bytes = size;
  buffers.clear();
  post(1u << log_size);
}

void MergeRig::post(uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    // A ring's worth of memory is used again and again.
    const uint32_t ring = 1u << rxq->wq.log_size;
    const size_t n = buffers.size();
    buffers.push_back(n < ring ? card.bus.alloc(buffer_bytes, "receive buffer")
                               : buffers[n - ring]);
    card.driver.post_rx(rxq, buffers.back(), buffer_bytes);
  }
  card.driver.publish(&rxq->wq);
}

std::vector<MergeRig::Packet> MergeRig::take() {
  std::vector<Packet> out;
  world.settle(400 * kMicro);
  verna_cqe cqe;
  uint32_t used = 0;
  while (card.driver.poll(rx_cq, &cqe)) {
    EXPECT_EQ(cqe.status, VERNA_CQE_OK);
    Packet p{cqe, {}};
    for (uint32_t i = 0; i < cqe.num_bufs; i++) {
      const size_t n = std::min<size_t>(buffer_bytes, cqe.byte_len - p.bytes.size());
      const Bytes part = card.bus.bytes(buffers[cqe.wqe_index + i], n);
      p.bytes.insert(p.bytes.end(), part.begin(), part.end());
    }
    used += cqe.num_bufs;
    const uint16_t sum = naive_sum(p.bytes.data() + 14, p.bytes.size() - 14);
    EXPECT_EQ(cqe.csum, __builtin_bswap16(sum));
    out.push_back(std::move(p));
  }
  if (used) post(used);
  return out;
}

std::vector<size_t> MergeRig::payloads(const std::vector<Bytes>& frames) {
  send(frames);
  std::vector<size_t> out;
  for (const Packet& p : take()) out.push_back(p.payload());
  return out;
}

}  // namespace verna::test
