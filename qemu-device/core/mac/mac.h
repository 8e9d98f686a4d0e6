// SPDX-License-Identifier: GPL-2.0-or-later
// The MAC: what all frames of a port go through, in and out.
#pragma once

#include <memory>

#include "base/counters.h"
#include "base/trace.h"
#include "mac/port.h"

namespace verna {

/// Bytes of a budget that a frame costs beyond its own, sent or received.
inline constexpr uint32_t kFrameCost = 64;

class PauseReceiver;
class PcapWriter;

/// Appends and checks the FCS where the port carries one, pads, captures and counts. Does not own
/// the port.
class Mac {
 public:
  Mac(Port& port, Counters& counters, Trace& trace);
  ~Mac();

  /// Captures everything that crosses the wire into a pcap file (nanosecond format, without FCS).
  /// False and errno: the file cannot be written. A write error later ends the capture.
  bool capture(const char* path);
  void set_now(Nanos now) { now_ = now; }

  bool link_up() const { return port_.link_up() && admin_up_; }
  /// PAUSE frames go to `pause` and no further; those to a unicast address only if it is `own`.
  void set_pause(PauseReceiver* pause, const uint8_t (&own)[6]);

  /// QMP set_link: a port that is administratively down neither sends nor receives.
  void set_admin_up(bool up);

  /// Room for a frame of `len` bytes without FCS, or null while the wire is full. While the link is
  /// down it gives a scratch buffer, and commit() counts the frame as dropped and returns false.
  uint8_t* reserve(uint32_t len) { return reserve(len, !link_up()); }
  bool commit(uint32_t len);
  /// The same for a frame to a vport for which the port's tx_can_aim() holds, whatever the link.
  uint8_t* reserve_aimed(uint32_t len) { return reserve(len, false); }
  void commit_to(uint32_t len, uint16_t vport);
  void flush();

  /// Next good frame (FCS right, at least 14 bytes, at most `max_len`), or null data. Bad frames on
  /// the way are counted and released, at most `kBadPerCall` a call. The caller releases.
  RxFrame receive(uint32_t max_len);
  void release() { port_.rx_release(); }

  Port& port() { return port_; }

 private:
  static constexpr int kBadPerCall = 16;
  uint8_t* reserve(uint32_t len, bool scratch);
  uint32_t finish(uint32_t len);
  uint32_t accept(const RxFrame& frame, uint32_t max_len);
  bool take_pause(const RxFrame& frame, uint32_t len);

  Port& port_;
  Counters& counters_;
  Trace& trace_;
  std::unique_ptr<PcapWriter> pcap_;
  std::unique_ptr<uint8_t[]> scratch_;
  uint8_t* reserved_ = nullptr;
  bool reserved_scratch_ = false;
  bool admin_up_ = true;
  PauseReceiver* pause_ = nullptr;
  uint8_t own_[6]{};
  Nanos now_ = 0;
};

}  // namespace verna
