// SPDX-License-Identifier: GPL-2.0-or-later
// A wire in memory and virtual time, with a seeded will to misbehave.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <vector>

#include "mac/port.h"
#include "support/clock.h"

namespace verna::test {

using Bytes = std::vector<uint8_t>;

/// What a direction of a wire does to frames. Probabilities are per frame.
struct Impairment {
  double loss = 0;
  double duplicate = 0;
  double reorder = 0;        // delayed by reorder_delay
  double corrupt = 0;        // one bit flipped, FCS left as it was
  double corrupt_fixed = 0;  // one bit flipped and the FCS made right again: only the ICRC can tell
  Nanos delay = 1 * kMicro;
  Nanos reorder_delay = 20 * kMicro;
  uint64_t bits_per_second = 0;  // 0: no serialisation time
  size_t max_queued = 4096;      // more pushes back at the sender
};

/// Frames on their way to one end, by time of arrival.
class WireDirection {
 public:
  WireDirection(ManualClock& clock, bool fcs) : clock_(clock), fcs_(fcs) {}

  Impairment impairment;
  void seed(uint64_t seed) { random_.seed(seed); }
  /// Sees every frame that enters (without FCS) and returns false to swallow it.
  std::function<bool(const Bytes&)> filter;

  bool full() const;
  /// Appends the FCS if the wire carries one.
  void send(Bytes frame);
  /// As it is, whatever its FCS.
  void send_raw(Bytes frame);
  const Bytes* front() const;
  void pop();
  Nanos next_arrival() const;
  size_t queued() const { return frames_.size(); }
  void clear() { frames_.clear(); }

  uint64_t sent = 0;
  uint64_t lost = 0;
  uint64_t damaged = 0;
  /// Of every frame that entered and when: the same seed gives the same value.
  uint64_t hash = 0xcbf29ce484222325;

 private:
  struct InFlight {
    Nanos arrival;
    Bytes frame;
  };
  bool chance(double p);
  void put(Bytes frame, Nanos arrival);

  ManualClock& clock_;
  bool fcs_;
  std::mt19937_64 random_{1};
  std::deque<InFlight> frames_;
  Nanos busy_until_ = 0;
};

/// One end of a wire as a card sees it.
class WirePort : public Port {
 public:
  WirePort(ManualClock& clock, WireDirection& out, WireDirection& in, bool fcs)
      : clock_(clock), out_(out), in_(in), fcs_(fcs) {}

  bool up = true;
  bool block_tx = false;  // the wire is full, whatever it holds

  bool link_up() const override { return up; }
  bool has_fcs() const override { return fcs_; }
  uint8_t* tx_reserve(uint32_t len) override;
  void tx_commit(uint32_t len) override;
  void tx_flush() override {}
  RxFrame rx_peek() override;
  void rx_release() override;
  Nanos poll(Nanos now) override;
  bool prepare_sleep(bool want_tx_room) override;
  void cancel_sleep() override { want_room_ = false; }
  size_t poll_fds(struct pollfd*, size_t) const override { return 0; }
  /// What would end the sleep of a card that called prepare_sleep().
  bool wakes() const { return in_.front() || (want_room_ && !block_tx && !out_.full()); }

 private:
  ManualClock& clock_;
  WireDirection& out_;
  WireDirection& in_;
  bool fcs_;
  Bytes buffer_;
  uint32_t reserved_ = 0;
  bool want_room_ = false;
};

/// Two ends.
class Wire {
 public:
  explicit Wire(ManualClock& clock, bool fcs = true)
      : to_b(clock, fcs), to_a(clock, fcs), a(clock, to_b, to_a, fcs), b(clock, to_a, to_b, fcs) {}

  WireDirection to_b;
  WireDirection to_a;
  WirePort a;
  WirePort b;

  void impair(const Impairment& how, uint64_t seed);
  Nanos next_arrival() const { return std::min(to_a.next_arrival(), to_b.next_arrival()); }
};

}  // namespace verna::test
