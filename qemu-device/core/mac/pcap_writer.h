// SPDX-License-Identifier: GPL-2.0-or-later
// Writes frames to a capture file.
#pragma once

#include <memory>
#include <vector>

#include "base/types.h"

namespace verna {

/// A file in the pcap format with nanosecond time stamps, link type Ethernet, frames without FCS.
/// Times are the card's. Buffered; a write that fails ends the capture silently, because a full
/// disk must not stop a card.
class PcapWriter {
 public:
  /// Makes or truncates the file. Null and errno: it cannot be written.
  static std::unique_ptr<PcapWriter> open(const char* path);
  ~PcapWriter();
  PcapWriter(const PcapWriter&) = delete;
  PcapWriter& operator=(const PcapWriter&) = delete;

  void write(Nanos now, const uint8_t* frame, uint32_t len);
  /// Puts what is buffered into the file.
  void flush();

 private:
  static constexpr size_t kBufferBytes = 256 << 10;
  explicit PcapWriter(int fd);

  int fd_;  // -1: ended
  std::vector<uint8_t> buffer_;
};

}  // namespace verna
