// SPDX-License-Identifier: GPL-2.0-or-later
// A bad wire, for tests: loses, repeats, reorders, damages and delays frames, the same way each
// time.
#pragma once

#include <vector>

#include "base/rng.h"
#include "mac/port.h"

namespace verna {

/// What happens to frames, in parts per million, and when, in the card's time.
struct FaultConfig {
  uint64_t seed = 1;
  uint32_t loss_ppm = 0;
  uint32_t duplicate_ppm = 0;
  uint32_t reorder_ppm = 0;  // held back for `reorder_delay`; later frames overtake
  uint32_t corrupt_ppm = 0;  // one bit flipped
  /// A damaged frame gets a right FCS, as from a bad switch: only end-to-end checks can find it.
  bool repair_fcs = false;
  Nanos delay = 0;
  Nanos jitter = 0;  // uniform in [0, jitter], keeps the order
  Nanos reorder_delay = 20'000;
};

struct FaultStats {
  uint64_t frames = 0;
  uint64_t lost = 0;
  uint64_t duplicated = 0;
  uint64_t reordered = 0;
  uint64_t corrupted = 0;
};

/// Wraps a port, which it does not own, and treats what is sent through it. Bounded: when too many
/// frames are under way it pushes back as a full wire does. Receives unchanged.
class FaultPort final : public Port {
 public:
  FaultPort(Port& inner, const FaultConfig& config);

  const FaultStats& stats() const { return stats_; }
  void configure(const FaultConfig& config) { config_ = config; }

  bool link_up() const override { return inner_.link_up(); }
  bool has_fcs() const override { return inner_.has_fcs(); }
  uint8_t* tx_reserve(uint32_t len) override;
  void tx_commit(uint32_t len) override;
  void tx_flush() override;
  RxFrame rx_peek() override { return inner_.rx_peek(); }
  void rx_release() override { inner_.rx_release(); }
  Nanos poll(Nanos now) override;
  bool prepare_sleep(bool want_tx_room) override;
  void cancel_sleep() override { inner_.cancel_sleep(); }
  size_t poll_fds(struct pollfd* fds, size_t max) const override {
    return inner_.poll_fds(fds, max);
  }
  void set_local_up(bool up) override { inner_.set_local_up(up); }
  uint64_t bad_records() const override { return inner_.bad_records(); }

 private:
  struct Flight {
    Nanos due;
    uint64_t order;
    std::vector<uint8_t> bytes;
  };
  static bool later(const Flight& a, const Flight& b) {
    return a.due != b.due ? a.due > b.due : a.order > b.order;
  }
  static constexpr size_t kMaxFlights = 4096;

  bool chance(uint32_t ppm) { return ppm && rng_.below(1'000'000) < ppm; }
  void send(std::vector<uint8_t> bytes);
  void corrupt(std::vector<uint8_t>& bytes);
  void deliver();
  Nanos next_due() const { return flights_.empty() ? kNever : flights_.front().due; }

  Port& inner_;
  FaultConfig config_;
  FaultStats stats_;
  Rng rng_;
  std::vector<Flight> flights_;  // heap, the earliest first
  std::vector<uint8_t> scratch_;
  uint64_t order_ = 0;
  Nanos now_ = 0;
  Nanos last_due_ = 0;
  Nanos reported_ = kNever;
  bool blocked_ = false;  // a frame is due and the inner port is full
};

}  // namespace verna
