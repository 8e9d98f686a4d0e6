// SPDX-License-Identifier: GPL-2.0-or-later
#include "mac/pause.h"

#include <algorithm>
#include <cstring>

#include "hw/verna_eth.h"
#include "mac/mac.h"
#include "pkt/protocols.h"

namespace verna {
namespace {

constexpr uint8_t kGroupAddress[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
constexpr uint32_t kPauseBytes = 18;  // header, opcode and time
constexpr uint32_t kQuantumBits = 512;

}  // namespace

Nanos pause_time(uint16_t quanta, uint32_t speed_mbps) {
  return uint64_t{quanta} * kQuantumBits * 1000 / std::max(speed_mbps, 1u);
}

bool is_pause_frame(const uint8_t* frame, uint32_t len, const uint8_t (&own)[6], uint16_t* quanta) {
  if (len < kPauseBytes || load_be16(frame + 12) != kEthertypeControl) return false;
  if (load_be16(frame + 14) != kControlPause) return false;
  if (std::memcmp(frame, kGroupAddress, 6) != 0 && std::memcmp(frame, own, 6) != 0) return false;
  *quanta = load_be16(frame + 16);
  return true;
}

void PauseReceiver::enable(bool on) {
  enabled_ = on;
  deaf_until_ = 0;
  if (!on) stop_until(0);
}

void PauseReceiver::receive(uint16_t quanta, Nanos now) {
  if (!enabled_ || now < deaf_until_) return;
  const uint64_t sent = counters_.port[VERNA_PORT_tx_frames] - counters_.port[VERNA_PORT_tx_pause];
  if (sent != sent_ || now > until_ + kBreak) since_ = now;
  sent_ = sent;
  if (now - since_ >= kLongest) {
    deaf_until_ = now + kBreak;
    return stop_until(0);
  }
  stop_until(quanta ? now + pause_time(quanta, speed_mbps_) : 0);
}

void PauseReceiver::stop_until(Nanos until) {
  until_ = until;
  stop_(until);
}

PauseSender::PauseSender(Mac& wire, TimerQueue& timers, Counters& counters, const uint8_t (&own)[6],
                         uint32_t speed_mbps, std::function<bool()> is_short)
    : wire_(wire),
      counters_(counters),
      period_(std::max<Nanos>(pause_time(kMaxPauseQuanta, speed_mbps) / 2, 1000)),
      is_short_(std::move(is_short)),
      timer_(timers, on_timer, this) {
  std::copy(std::begin(own), std::end(own), own_);
}

void PauseSender::enable(bool on) {
  if (!on && pausing_) send(0);
  enabled_ = on;
  pausing_ = gave_up_ = false;
  timer_.cancel();
}

void PauseSender::shortage(Nanos now) {
  if (!enabled_ || pausing_ || gave_up_) return;
  pausing_ = true;
  since_ = now;
  send(kMaxPauseQuanta);
  timer_.set(now + period_);
}

void PauseSender::on_timer(void* self, Nanos now) {
  static_cast<PauseSender*>(self)->look_again(now);
}

/// Also looks on after it gave up, for the end of the shortage. A frame that finds the wire full is
/// made up for by the next.
void PauseSender::look_again(Nanos now) {
  timer_.set(now + period_);
  if (!is_short_()) {
    if (pausing_ && !send(0)) return;
    pausing_ = gave_up_ = false;
    timer_.cancel();
  } else if (pausing_ && now - since_ >= kLongest) {
    pausing_ = false;
    gave_up_ = true;
    send(0);
  } else if (pausing_) {
    send(kMaxPauseQuanta);
  }
}

bool PauseSender::send(uint16_t quanta) {
  uint8_t* frame = wire_.reserve(VERNA_ETH_MIN_FRAME);
  if (!frame) return false;
  std::memset(frame, 0, VERNA_ETH_MIN_FRAME);
  std::memcpy(frame, kGroupAddress, 6);
  std::memcpy(frame + 6, own_, 6);
  store_be16(frame + 12, kEthertypeControl);
  store_be16(frame + 14, kControlPause);
  store_be16(frame + 16, quanta);
  if (wire_.commit(VERNA_ETH_MIN_FRAME)) counters_.port[VERNA_PORT_tx_pause]++;
  return true;
}

}  // namespace verna
