// SPDX-License-Identifier: GPL-2.0-or-later
// The wire between two cards on one host: a ring of frames in shared memory for each direction.
#pragma once

#include <optional>
#include <string>

#include "mac/link_handshake.h"
#include "mac/port.h"
#include "mac/shm_ring.h"

namespace verna {

/// One end of `link=PATH`. The two ends may start in either order, restart and reconnect. While
/// both are awake frames move without a system call; who sleeps is woken by a byte on the link's
/// socket.
///
/// The peer is hostile: what it writes is checked, and if it makes no sense the link goes down, is
/// counted in bad_records() and starts again.
class ShmLinkPort final : public Port {
 public:
  static constexpr uint32_t kDefaultRingKib = 8192;

  /// Empty, or why a link cannot be made so (names value and range).
  static std::string check(const std::string& path, uint32_t ring_kib);

  /// `ring_kib` of each direction, 0: the default. Arguments must have passed check(). The link
  /// comes up in poll().
  ShmLinkPort(std::string path, uint32_t ring_kib);

  bool link_up() const override;
  bool has_fcs() const override { return true; }
  uint8_t* tx_reserve(uint32_t len) override;
  void tx_commit(uint32_t len) override;
  void tx_flush() override;
  RxFrame rx_peek() override;
  void rx_release() override;
  Nanos poll(Nanos now) override;
  bool prepare_sleep(bool want_tx_room) override;
  void cancel_sleep() override;
  size_t poll_fds(struct pollfd* fds, size_t max) const override;
  void set_local_up(bool up) override;
  uint64_t bad_records() const override { return bad_records_; }

 private:
  /// A connection to a peer: ends with it.
  struct Session {
    explicit Session(LinkPeer p);
    bool broken() const { return tx.broken() || rx.broken(); }

    LinkPeer peer;
    RingProducer tx;
    RingConsumer rx;
  };

  // Batches: a consumer on another core sees frames early, but does not fetch the index's cache
  // line again for each of them.
  static constexpr uint32_t kPublishBytes = 32768;
  static constexpr Nanos kSocketCheck = 10'000'000;

  void kick();
  void publish_rx();
  bool socket_alive();
  void check_session(Nanos now);

  LinkHandshake handshake_;
  std::optional<Session> session_;
  bool local_up_ = true;
  bool check_socket_ = false;
  Nanos next_check_ = 0;
  uint64_t bad_records_ = 0;
};

}  // namespace verna
