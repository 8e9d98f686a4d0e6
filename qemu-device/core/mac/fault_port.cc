// SPDX-License-Identifier: GPL-2.0-or-later
#include "mac/fault_port.h"

#include <algorithm>
#include <utility>

#include "pkt/crc32.h"

namespace verna {

FaultPort::FaultPort(Port& inner, const FaultConfig& config)
    : inner_(inner), config_(config), rng_(config.seed), scratch_(kMaxFrame) {}

uint8_t* FaultPort::tx_reserve(uint32_t len) {
  // One frame may become two.
  if (!inner_.link_up() || len > kMaxFrame || flights_.size() + 2 > kMaxFlights) return nullptr;
  return scratch_.data();
}

void FaultPort::corrupt(std::vector<uint8_t>& bytes) {
  stats_.corrupted++;
  const uint32_t body = static_cast<uint32_t>(bytes.size()) - (has_fcs() ? 4 : 0);
  const uint32_t bit = rng_.below(body * 8);
  bytes[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
  if (has_fcs() && config_.repair_fcs)
    store_le<uint32_t>(bytes.data() + body, crc32(0, bytes.data(), body));
}

void FaultPort::send(std::vector<uint8_t> bytes) {
  const Nanos jitter = config_.jitter ? rng_.next64() % (config_.jitter + 1) : 0;
  Nanos due = std::max(last_due_, now_ + config_.delay + jitter);
  if (chance(config_.reorder_ppm)) {
    stats_.reordered++;
    due += config_.reorder_delay;
  } else {
    last_due_ = due;
  }
  flights_.push_back({due, order_++, std::move(bytes)});
  std::push_heap(flights_.begin(), flights_.end(), later);
}

void FaultPort::tx_commit(uint32_t len) {
  stats_.frames++;
  if (chance(config_.loss_ppm)) {
    stats_.lost++;
    return;
  }
  std::vector<uint8_t> bytes(scratch_.begin(), scratch_.begin() + len);
  if (len > 4 && chance(config_.corrupt_ppm)) corrupt(bytes);
  if (chance(config_.duplicate_ppm)) {
    stats_.duplicated++;
    send(bytes);
  }
  send(std::move(bytes));
}

// Hands over what is due. A link that went down loses what is under way.
void FaultPort::deliver() {
  blocked_ = false;
  while (next_due() <= now_) {
    const Flight& flight = flights_.front();
    const uint32_t len = static_cast<uint32_t>(flight.bytes.size());
    if (inner_.link_up()) {
      uint8_t* room = inner_.tx_reserve(len);
      blocked_ = room == nullptr;
      if (blocked_) break;
      std::memcpy(room, flight.bytes.data(), len);
      inner_.tx_commit(len);
    }
    std::pop_heap(flights_.begin(), flights_.end(), later);
    flights_.pop_back();
  }
  inner_.tx_flush();
}

void FaultPort::tx_flush() { deliver(); }

Nanos FaultPort::poll(Nanos now) {
  now_ = now;
  const Nanos inner = inner_.poll(now);
  deliver();
  reported_ = blocked_ ? kNever : next_due();
  return std::min(inner, reported_);
}

bool FaultPort::prepare_sleep(bool want_tx_room) {
  // A frame sent since poll() may be due before the time that poll() gave.
  if (!blocked_ && next_due() < reported_) return false;
  return inner_.prepare_sleep(want_tx_room || blocked_);
}

}  // namespace verna
