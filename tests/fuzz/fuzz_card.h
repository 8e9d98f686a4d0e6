// SPDX-License-Identifier: GPL-2.0-or-later
// What the fuzzers have in common: a reader of the input, a card with two connected queue pairs,
// and seeds that a new corpus starts with.
#pragma once

#include <cstdint>
#include <vector>

#include "support/rdma_rig.h"

namespace verna::fuzz {

using test::Bytes;

/// Takes values off the input; zeros when it is used up.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  size_t left() const { return left_; }
  template <typename T>
  T take() {
    T v{};
    const size_t n = left_ < sizeof v ? left_ : sizeof v;
    std::memcpy(&v, data_, n);
    data_ += n;
    left_ -= n;
    return v;
  }
  uint8_t byte() { return take<uint8_t>(); }
  Bytes bytes(size_t n) {
    if (n > left_) n = left_;
    Bytes out(data_, data_ + n);
    data_ += n;
    left_ -= n;
    return out;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

/// Small limits, so that a card is quickly made.
NicConfig small_config(uint16_t num_vfs = 0);

/// A card with an RC and a UD queue pair in RTS, memory that packets may name, receive requests,
/// and an Ethernet queue in each direction.
struct Rig : test::RdmaRig {
  explicit Rig(uint16_t num_vfs = 0);
  /// Gives the card back the receive buffers of the Ethernet queue that it has used.
  void repost();
  /// Makes the card deliver what it holds to be merged.
  void end_merging();

  test::QueuePair* rc;
  test::QueuePair* ud;
  test::Region* mr;
  test::EthQueue* txq;
  test::EthQueue* rxq;
  test::RingHandle* eth_cq;
  std::vector<uint64_t> buffers;  // by slot of the ring
};

/// From now on what the card reads in [first, last) changes behind its back, by a bit pattern, if
/// `flip` is 128 or more. `bus` is the rig's.
void change_what_was_read(test::FakeHostBus& bus, uint8_t flip, uint64_t first, uint64_t last);

/// Ends the program if the counters do not add up, of any function.
void check(Rig& rig);

/// Called once by libFuzzer: puts the seeds into a corpus folder that is still empty.
void plant_seeds(int argc, char** argv, const std::vector<Bytes>& seeds);

}  // namespace verna::fuzz
