// SPDX-License-Identifier: GPL-2.0-or-later
// Link pause, IEEE 802.3 annex 31B: a receiver that runs out of buffers stops the other end.
#pragma once

#include <functional>

#include "base/counters.h"
#include "base/timer.h"

namespace verna {

class Mac;

/// Bits on the wire take this long: a pause quantum is 512 of them.
inline constexpr uint16_t kMaxPauseQuanta = 0xffff;
Nanos pause_time(uint16_t quanta, uint32_t speed_mbps);

/// True if a good frame of `len` bytes without FCS is a PAUSE frame to the group address or to
/// `own`; `*quanta` is then its time.
bool is_pause_frame(const uint8_t* frame, uint32_t len, const uint8_t (&own)[6], uint16_t* quanta);

/// What PAUSE frames of the other end do. One that never lets us send would have us stand still for
/// ever: after kLongest in which no frame was sent it is ignored for kBreak.
class PauseReceiver {
 public:
  /// `stop` is told until when nobody may send; a time that has come ends the pause.
  PauseReceiver(uint32_t speed_mbps, const Counters& counters,
                std::function<void(Nanos until)> stop)
      : speed_mbps_(speed_mbps), counters_(counters), stop_(std::move(stop)) {}

  void enable(bool on);
  bool enabled() const { return enabled_; }
  void receive(uint16_t quanta, Nanos now);

  static constexpr Nanos kLongest = 1'000'000'000;
  static constexpr Nanos kBreak = 100'000'000;

 private:
  void stop_until(Nanos until);

  uint32_t speed_mbps_;
  const Counters& counters_;
  std::function<void(Nanos)> stop_;
  bool enabled_ = false;
  uint64_t sent_ = 0;  // frames, when the last PAUSE came
  Nanos since_ = 0;    // first PAUSE since one was sent
  Nanos until_ = 0;
  Nanos deaf_until_ = 0;
};

/// Pauses the other end while we are short of buffers. A shortage that does not end, because the
/// host is dead, must not stop the other end for ever: after kLongest it gets no more PAUSE.
class PauseSender {
 public:
  /// `is_short` looks at the receive queues.
  PauseSender(Mac& wire, TimerQueue& timers, Counters& counters, const uint8_t (&own)[6],
              uint32_t speed_mbps, std::function<bool()> is_short);

  void enable(bool on);
  bool enabled() const { return enabled_; }
  bool pausing() const { return pausing_; }
  /// A receive queue is nearly empty.
  void shortage(Nanos now);

  static constexpr Nanos kLongest = 1'000'000'000;

 private:
  static void on_timer(void* self, Nanos now);
  void look_again(Nanos now);
  bool send(uint16_t quanta);

  Mac& wire_;
  Counters& counters_;
  uint8_t own_[6];
  Nanos period_;  // a pause is refreshed in time
  std::function<bool()> is_short_;
  Timer timer_;
  bool enabled_ = false;
  bool pausing_ = false;
  bool gave_up_ = false;  // until the shortage is over
  Nanos since_ = 0;
};

}  // namespace verna
