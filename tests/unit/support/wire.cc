// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/wire.h"

#include <algorithm>

#include "support/crc.h"
#include "support/fail.h"

namespace verna::test {
namespace {

void append_fcs(Bytes* frame) {
  const uint32_t fcs = ethernet_fcs(frame->data(), frame->size());
  for (int i = 0; i < 4; i++) frame->push_back(static_cast<uint8_t>(fcs >> (8 * i)));
}

}  // namespace

bool WireDirection::chance(double p) {
  if (p <= 0) return false;
  return static_cast<double>(random_() >> 11) * 0x1p-53 < p;
}

bool WireDirection::full() const { return frames_.size() >= impairment.max_queued; }

void WireDirection::put(Bytes frame, Nanos arrival) {
  auto at = std::upper_bound(frames_.begin(), frames_.end(), arrival,
                             [](Nanos t, const InFlight& f) { return t < f.arrival; });
  frames_.insert(at, {arrival, std::move(frame)});
}

void WireDirection::send(Bytes frame) {
  sent++;
  for (uint8_t byte : frame) hash = (hash ^ byte) * 0x100000001b3;
  hash = (hash ^ clock_.now) * 0x100000001b3;
  Nanos start = std::max(clock_.now, busy_until_);
  if (impairment.bits_per_second != 0) {
    start += frame.size() * 8 * kSecond / impairment.bits_per_second;
    busy_until_ = start;
  }
  if (filter && !filter(frame)) return;
  if (chance(impairment.loss)) {
    lost++;
    return;
  }
  if (chance(impairment.corrupt_fixed)) {
    damaged++;
    frame[random_() % frame.size()] ^= static_cast<uint8_t>(1u << (random_() % 8));
  }
  if (fcs_) append_fcs(&frame);
  if (chance(impairment.corrupt)) {
    damaged++;
    frame[random_() % frame.size()] ^= static_cast<uint8_t>(1u << (random_() % 8));
  }
  Nanos arrival = start + impairment.delay;
  if (chance(impairment.duplicate)) put(frame, arrival + impairment.delay);
  if (chance(impairment.reorder)) arrival += impairment.reorder_delay;
  put(std::move(frame), arrival);
}

void WireDirection::send_raw(Bytes frame) {
  sent++;
  put(std::move(frame), clock_.now);
}

const Bytes* WireDirection::front() const {
  if (frames_.empty() || frames_.front().arrival > clock_.now) return nullptr;
  return &frames_.front().frame;
}

void WireDirection::pop() { frames_.pop_front(); }

Nanos WireDirection::next_arrival() const {
  return frames_.empty() ? kNever : frames_.front().arrival;
}

uint8_t* WirePort::tx_reserve(uint32_t len) {
  if (len > kMaxFrame) fail("tx_reserve() of more than kMaxFrame");
  if (!up || block_tx || out_.full()) return nullptr;
  buffer_.assign(len, 0xee);
  reserved_ = len;
  return buffer_.data();
}

void WirePort::tx_commit(uint32_t len) {
  if (len > reserved_) {
    fail("tx_commit() of more than was reserved");
    return;
  }
  reserved_ = 0;
  Bytes frame(buffer_.begin(), buffer_.begin() + len);
  if (!fcs_) {
    out_.send(std::move(frame));
    return;
  }
  // The wire checks what the card's MAC appended and then appends its own again.
  const uint32_t fcs = len >= 4 ? load_le<uint32_t>(&frame[len - 4]) : 0;
  if (len < 4 || fcs != ethernet_fcs(frame.data(), len - 4))
    fail("a frame was sent with a bad FCS");
  frame.resize(len - std::min(len, 4u));
  if (frame.size() < 60) fail("a frame shorter than 60 bytes was sent");
  out_.send(std::move(frame));
}

RxFrame WirePort::rx_peek() {
  const Bytes* frame = up ? in_.front() : nullptr;
  if (!frame) return {};
  static const uint8_t empty = 0;
  return {frame->empty() ? &empty : frame->data(), static_cast<uint32_t>(frame->size())};
}

void WirePort::rx_release() {
  if (!in_.front()) {
    fail("rx_release() of no frame");
    return;
  }
  in_.pop();
}

Nanos WirePort::poll(Nanos now) {
  if (now != clock_.now) fail("the card's time is not the wire's");
  return in_.next_arrival();
}

bool WirePort::prepare_sleep(bool want_tx_room) {
  want_room_ = want_tx_room;
  return !wakes();
}

void Wire::impair(const Impairment& how, uint64_t seed) {
  to_a.impairment = to_b.impairment = how;
  to_a.seed(seed * 2 + 1);
  to_b.seed(seed * 2 + 2);
}

}  // namespace verna::test
