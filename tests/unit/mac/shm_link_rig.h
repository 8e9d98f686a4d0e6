// SPDX-License-Identifier: GPL-2.0-or-later
// A path for a link that is gone after the test, and numbered frames to send over it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>

#include "mac/shm_link_port.h"

namespace verna::test {

inline constexpr Nanos kMs = 1'000'000;

inline Nanos real_now() {
  return static_cast<Nanos>(std::chrono::steady_clock::now().time_since_epoch().count());
}

struct ShmLinkTest : testing::Test {
  ShmLinkTest() {
    char name[] = "/tmp/verna-link-XXXXXX";
    folder = mkdtemp(name);
    path = folder + "/link";
  }
  ~ShmLinkTest() override {
    unlink(path.c_str());
    unlink((path + ".lock").c_str());
    rmdir(folder.c_str());
  }
  std::unique_ptr<ShmLinkPort> make() const { return std::make_unique<ShmLinkPort>(path, 64); }

  /// Polls both in virtual time until both are up.
  bool join(ShmLinkPort& a, ShmLinkPort& b) {
    for (int i = 0; i < 3000; i++) {
      now += kMs;
      a.poll(now);
      b.poll(now);
      if (a.link_up() && b.link_up()) return true;
    }
    return false;
  }

  std::string folder;
  std::string path;
  Nanos now = 1000 * kMs;
};

inline bool send(Port& port, uint32_t number, uint32_t len = 100) {
  uint8_t* room = port.tx_reserve(len);
  if (!room) return false;
  for (uint32_t i = 0; i < len; i++) room[i] = static_cast<uint8_t>(number * 7 + i);
  store_le(room, number);
  port.tx_commit(len);
  return true;
}

/// 1: the frame with this number, 0: nothing there, -1: something else.
inline int receive(Port& port, uint32_t number) {
  const RxFrame f = port.rx_peek();
  if (!f.data) return 0;
  bool good = f.len >= 4 && load_le<uint32_t>(f.data) == number;
  for (uint32_t i = 4; good && i < f.len; i++) {
    good = f.data[i] == static_cast<uint8_t>(number * 7 + i);
  }
  port.rx_release();
  return good ? 1 : -1;
}

}  // namespace verna::test
