// SPDX-License-Identifier: GPL-2.0-or-later
// How two cards with the same link path find each other and come to share memory.
#pragma once

#include <string>

#include "base/types.h"

namespace verna {

/// A file descriptor that is closed with its owner.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~Fd() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

/// Memory of a link: a control page for each direction, then the two rings. The peer has it mapped,
/// too, and may write anything anywhere at any time, but cannot make it smaller.
class LinkMemory {
 public:
  LinkMemory() = default;
  LinkMemory(LinkMemory&& other) noexcept;
  LinkMemory& operator=(LinkMemory&& other) noexcept;
  ~LinkMemory();

  /// Makes sealed memory for rings of `ring_bytes` each. Puts the descriptor to hand to the peer
  /// into `*fd`. False and errno: there is not enough memory or descriptors.
  bool create(uint32_t ring_bytes, Fd* fd);
  /// Maps what a peer handed over, if it is sealed and has the right size.
  bool adopt(const Fd& fd, uint32_t ring_bytes);

  uint8_t* control(int direction) const { return base_ + direction * kControlBytes; }
  uint8_t* ring(int direction) const {
    return base_ + 2 * kControlBytes + static_cast<size_t>(direction) * ring_bytes_;
  }
  uint32_t ring_bytes() const { return ring_bytes_; }

 private:
  static constexpr size_t kControlBytes = 4096;
  static size_t total(uint32_t ring_bytes) { return 2 * kControlBytes + 2 * size_t{ring_bytes}; }
  bool map(int fd, uint32_t ring_bytes);
  void unmap();

  uint8_t* base_ = nullptr;
  uint32_t ring_bytes_ = 0;
};

/// A peer that was found. The socket stays for the life of the link: a byte on it wakes the other
/// side, its end says that the other side is gone.
///
/// Wake-ups go over the socket and not over an eventfd on purpose: an eventfd is shared with the
/// peer, who could fill it and clear O_NONBLOCK, and so block us; MSG_DONTWAIT is ours alone.
struct LinkPeer {
  Fd socket;
  LinkMemory memory;
  int tx_direction = 0;  // which ring we produce into; the peer the other
};

/// Finds a peer at a path in the file system, again and again. Never blocks.
///
/// Whoever finds nobody listening at the path takes the lock file PATH.lock, removes what a dead
/// process left there, and listens itself until it goes away. Then, over a SOCK_SEQPACKET socket:
/// the one who connected says hello, the one who listens offers memory, the first one confirms.
/// The larger of both ring sizes is used.
class LinkHandshake {
 public:
  LinkHandshake(std::string path, uint32_t ring_bytes);
  ~LinkHandshake();

  /// Takes the next steps. True: a peer is there, take() it.
  bool poll(Nanos now);
  LinkPeer take();
  /// When poll() wants to be called again if no descriptor becomes readable before.
  Nanos next() const { return next_; }
  /// Descriptor to wait for, or -1.
  int wait_fd() const;
  /// The peer of before is gone. Attempts are kPause apart even if peers come and go at once.
  void restart(Nanos now);

  static constexpr Nanos kPause = 100'000'000;
  static constexpr Nanos kPatience = 1'000'000'000;  // for a peer's next message

 private:
  enum class State {
    kIdle,         // nothing open but perhaps the listening socket; tries at next_
    kListening,    // somebody may connect
    kWaitHello,    // somebody did
    kWaitConfirm,  // and was offered memory
    kWaitOffer,    // we connected and said hello
    kDone,
  };
  bool begin(Nanos now);
  bool connect_peer(Nanos now);
  bool listen_at_path();
  bool take_lock();
  bool accept_peer(Nanos now);
  bool on_hello();
  bool on_confirm();
  bool on_offer();
  void step(Nanos now);
  void wait_for(State state, Nanos now);
  void give_up(Nanos now);

  std::string path_;
  uint32_t ring_bytes_;
  State state_ = State::kIdle;
  Nanos next_ = 0;
  Nanos earliest_ = 0;  // no new attempt before
  Fd lock_;
  Fd listener_;
  LinkPeer peer_;
};

}  // namespace verna
