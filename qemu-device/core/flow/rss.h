// SPDX-License-Identifier: GPL-2.0-or-later
// Receive side scaling: which queue a packet goes to.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "pkt/packet_view.h"
#include "pkt/toeplitz.h"

namespace verna {

/// One RSS context: hash function and indirection table.
class Rss {
 public:
  static constexpr uint16_t kTableSize = 512;  // four entries for each of 128 queues
  using Table = std::array<uint16_t, kTableSize>;
  using Fields = std::array<uint8_t, VERNA_RSS_NUM_TYPES>;
  struct Config {
    uint8_t key[VERNA_RSS_KEY_SIZE];
    Table table;
    Fields fields;  // VERNA_RSS_SRC_IP etc. by verna_rss_type
    verna_rss_transform transform;
  };
  struct Choice {
    uint16_t queue;
    bool hashed;  // the packet is of a kind that is hashed; else `hash` is 0
    bool l4;      // ports are part of the hash
    uint32_t hash;
    uint32_t mark;  // of the flow rule that chose, 0: none
  };

  /// Null, or what is wrong with fields and transform: a static text.
  static const char* check(const Fields& fields, uint8_t transform);

  void configure(const Config& config);
  /// Hash and entry of the table; what is not hashed goes to the table's first entry.
  Choice choose(const PacketView& packet) const;

  const Config& config() const { return config_; }
  uint32_t users = 0;  // flow rules that send packets here

 private:
  struct Input;
  bool gather(const PacketView& packet, uint8_t fields, Input* input) const;

  Toeplitz toeplitz_;
  Config config_{};
};

/// The contexts of one function. Context 0 always exists.
class RssContexts {
 public:
  static constexpr uint16_t kMaxContexts = 64;

  RssContexts() { reset(); }
  /// Only context 0 is left, and sends everything to queue 0.
  void reset();

  /// Null: no such context.
  Rss* find(uint32_t id) { return id < kMaxContexts ? contexts_[id].get() : nullptr; }
  const Rss* find(uint32_t id) const { return id < kMaxContexts ? contexts_[id].get() : nullptr; }
  const Rss& main() const { return *contexts_[0]; }

  /// Makes context `id` (below kMaxContexts) or changes it.
  void configure(uint32_t id, const Rss::Config& config);
  /// `id` is an existing context without users, not 0.
  void destroy(uint32_t id) { contexts_[id].reset(); }

 private:
  std::array<std::unique_ptr<Rss>, kMaxContexts> contexts_;
};

}  // namespace verna
