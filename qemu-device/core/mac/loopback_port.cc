// SPDX-License-Identifier: GPL-2.0-or-later
#include "mac/loopback_port.h"

namespace verna {

uint8_t* LoopbackPort::tx_reserve(uint32_t len) {
  if (!up_ || len > kMaxFrame) return nullptr;
  uint8_t* room = tx_.reserve(len);
  if (!room) tx_flush();
  return room;
}

RxFrame LoopbackPort::rx_peek() {
  const RxFrame frame = rx_.peek();
  if (!frame.data) (void)rx_.publish();
  return frame;
}

// Nobody else can make room or frames: sleep only if there is nothing to receive.
bool LoopbackPort::prepare_sleep(bool want_tx_room) {
  tx_flush();
  (void)want_tx_room;
  return rx_peek().data == nullptr;
}

}  // namespace verna
