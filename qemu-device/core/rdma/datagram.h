// SPDX-License-Identifier: GPL-2.0-or-later
// Unreliable datagrams: UD and GSI queue pairs.
#pragma once

#include "rdma/recv_request.h"

namespace verna {

class Completer;

/// Sends the requests of a UD queue pair: one packet each, to the address in the request.
class DatagramSender {
 public:
  DatagramSender(QpContext& context, Completer& completer) : ctx_(context), completer_(completer) {}

  bool has_work() const { return ctx_.state == VERNA_QPS_RTS && ctx_.sq.available() > 0; }
  TxSource::Result transmit(int64_t* budget, Nanos now);
  void start(uint32_t psn) { psn_ = psn; }
  uint32_t psn() const { return psn_; }

 private:
  enum class Step { kSent, kWireFull, kEnded };

  Step send_next(int64_t* budget, Nanos now);
  verna_cqe_status check();
  bool set_path();
  Access fill(const BthFields& bth, uint32_t payload, uint8_t* frame);
  Step fail(verna_cqe_status status, Nanos now);

  QpContext& ctx_;
  Completer& completer_;
  SendWqe wqe_;
  verna_av av_{};  // that ctx_.path was made from
  bool av_valid_ = false;
  uint32_t psn_ = 0;
};

/// Places datagrams in receive requests, 40 bytes of network header first.
class DatagramReceiver {
 public:
  explicit DatagramReceiver(QpContext& context) : ctx_(context), recv_(context) {}

  /// A datagram whose headers, keys and ICRC are right. Counts it.
  void receive(const RocePacket& packet, Nanos now);
  /// Completes the oldest receive request as flushed.
  void flush_one(Nanos now) { recv_.flush_one(now); }
  bool recv_held() const { return recv_.held(); }
  void reset() { recv_.reset(); }

 private:
  bool take(const RocePacket& packet, Nanos now);
  void complete(const RocePacket& packet, Nanos now);

  QpContext& ctx_;
  RecvRequest recv_;
};

}  // namespace verna
