// SPDX-License-Identifier: GPL-2.0-or-later
#include "mac/mac.h"

#include "hw/verna_eth.h"
#include "mac/frame_counters.h"
#include "mac/pause.h"
#include "mac/pcap_writer.h"
#include "pkt/crc32.h"
#include "pkt/protocols.h"

namespace verna {

Mac::Mac(Port& port, Counters& counters, Trace& trace)
    : port_(port),
      counters_(counters),
      trace_(trace),
      scratch_(std::make_unique<uint8_t[]>(kMaxFrame)) {}

Mac::~Mac() = default;

bool Mac::capture(const char* path) {
  pcap_ = PcapWriter::open(path);
  return pcap_ != nullptr;
}

void Mac::set_admin_up(bool up) {
  admin_up_ = up;
  port_.set_local_up(up);
}

uint8_t* Mac::reserve(uint32_t len, bool scratch) {
  const uint32_t padded =
      (len < VERNA_ETH_MIN_FRAME ? VERNA_ETH_MIN_FRAME : len) + (port_.has_fcs() ? kFcsBytes : 0);
  if (padded > kMaxFrame) return nullptr;
  reserved_scratch_ = scratch;
  reserved_ = reserved_scratch_ ? scratch_.get() : port_.tx_reserve(padded);
  return reserved_;
}

bool Mac::commit(uint32_t len) {
  if (reserved_scratch_) {
    counters_.port[VERNA_PORT_tx_drop_link_down]++;
    trace_.point(Stage::kDrop, VERNA_PORT_tx_drop_link_down, len);
    return false;
  }
  port_.tx_commit(finish(len));
  return true;
}

void Mac::commit_to(uint32_t len, uint16_t vport) { port_.tx_commit_to(finish(len), vport); }

/// Pads, counts and captures a frame that is sent. Returns its length with FCS.
uint32_t Mac::finish(uint32_t len) {
  if (len < VERNA_ETH_MIN_FRAME) {
    std::memset(reserved_ + len, 0, VERNA_ETH_MIN_FRAME - len);
    len = VERNA_ETH_MIN_FRAME;
  }
  count_sent(counters_, reserved_, len);
  trace_.point(Stage::kWireOut, len);
  if (pcap_) pcap_->write(now_, reserved_, len);
  if (port_.has_fcs()) {
    store_le<uint32_t>(reserved_ + len, crc32(0, reserved_, len));
    len += kFcsBytes;
  }
  return len;
}

void Mac::flush() {
  port_.tx_flush();
  if (pcap_) pcap_->flush();
}

// Counts one frame of the wire and decides what is wrong with it. Returns its length without FCS,
// or 0: drop it.
uint32_t Mac::accept(const RxFrame& frame, uint32_t max_len) {
  const uint32_t fcs = port_.has_fcs() ? kFcsBytes : 0;
  const uint32_t len = frame.len > fcs ? frame.len - fcs : 0;
  const bool fcs_ok =
      !fcs || (len && load_le<uint32_t>(frame.data + len) == crc32(0, frame.data, len));
  count_received(counters_, len, max_len, fcs_ok);
  trace_.next_packet();
  trace_.point(Stage::kWireIn, len);
  if (pcap_) pcap_->write(now_, frame.data, len);
  verna_port_counter reason;
  if (len < kMacHeaderBytes)
    reason = VERNA_PORT_rx_drop_runt;
  else if (!fcs_ok)
    reason = VERNA_PORT_rx_drop_fcs;
  else if (len > max_len)
    reason = VERNA_PORT_rx_drop_oversize;
  else
    return count_good(counters_, frame.data, len), len;
  counters_.port[reason]++;
  trace_.point(Stage::kDrop, reason, len);
  return 0;
}

void Mac::set_pause(PauseReceiver* pause, const uint8_t (&own)[6]) {
  pause_ = pause;
  std::memcpy(own_, own, sizeof own_);
}

bool Mac::take_pause(const RxFrame& frame, uint32_t len) {
  uint16_t quanta;
  if (!pause_ || !is_pause_frame(frame.data, len, own_, &quanta)) return false;
  counters_.port[VERNA_PORT_rx_pause]++;
  pause_->receive(quanta, now_);
  return true;
}

RxFrame Mac::receive(uint32_t max_len) {
  for (int bad = 0; bad < kBadPerCall;) {
    const RxFrame frame = port_.rx_peek();
    if (!frame.data) break;
    if (!admin_up_) {  // the wire is cut at our end: nothing arrives
      port_.rx_release();
      bad++;
      continue;
    }
    const uint32_t len = accept(frame, max_len);
    if (len && !take_pause(frame, len)) return {frame.data, len};
    port_.rx_release();
    bad++;
  }
  counters_.port[VERNA_PORT_link_bad_record] = port_.bad_records();
  if (pcap_) pcap_->flush();
  return {};
}

}  // namespace verna
