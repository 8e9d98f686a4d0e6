// SPDX-License-Identifier: GPL-2.0-or-later
#include "mac/shm_link_port.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace verna {

namespace {

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

uint32_t ring_bytes(uint32_t ring_kib) {
  return (ring_kib ? ring_kib : ShmLinkPort::kDefaultRingKib) << 10;
}

}  // namespace

std::string ShmLinkPort::check(const std::string& path, uint32_t ring_kib) {
  if (ring_kib && !ring_size_valid(uint64_t{ring_kib} << 10))
    return fmt::format("link-ring-kib={}: must be a power of two from {} to {}", ring_kib,
                       kMinRingBytes >> 10, kMaxRingBytes >> 10);
  constexpr size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty() || path.size() > kLongest)
    return fmt::format("link={}: the path has {} bytes, must have 1 to {}", path, path.size(),
                       kLongest);
  const std::string directory = directory_of(path);
  if (access(directory.c_str(), W_OK | X_OK))
    return fmt::format("link={}: cannot make files in {}: {}", path, directory,
                       std::strerror(errno));
  struct stat st;
  if (lstat(path.c_str(), &st) == 0 && !S_ISSOCK(st.st_mode))
    return fmt::format("link={}: exists and is no socket", path);
  return {};
}

ShmLinkPort::Session::Session(LinkPeer p)
    : peer(std::move(p)),
      tx(reinterpret_cast<RingControl*>(peer.memory.control(peer.tx_direction)),
         peer.memory.ring(peer.tx_direction), peer.memory.ring_bytes()),
      rx(reinterpret_cast<RingControl*>(peer.memory.control(1 - peer.tx_direction)),
         peer.memory.ring(1 - peer.tx_direction), peer.memory.ring_bytes()) {}

ShmLinkPort::ShmLinkPort(std::string path, uint32_t ring_kib)
    : handshake_(std::move(path), ring_bytes(ring_kib)) {}

bool ShmLinkPort::link_up() const {
  return session_ && !session_->broken() && session_->rx.peer_up();
}

// Wakes the peer. If the socket is full, a wake-up that the peer has not taken is in it.
void ShmLinkPort::kick() {
  const char byte = 0;
  (void)!send(session_->peer.socket.get(), &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

uint8_t* ShmLinkPort::tx_reserve(uint32_t len) {
  if (!session_ || len > kMaxFrame) return nullptr;
  uint8_t* room = session_->tx.reserve(len);
  if (!room) tx_flush();  // the peer can make room only if it sees what fills the ring
  return room;
}

void ShmLinkPort::tx_commit(uint32_t len) {
  session_->tx.commit(len);
  if (session_->tx.unpublished() >= kPublishBytes) tx_flush();
}

void ShmLinkPort::tx_flush() {
  if (session_ && session_->tx.publish()) kick();
}

void ShmLinkPort::publish_rx() {
  if (session_->rx.publish()) kick();
}

RxFrame ShmLinkPort::rx_peek() {
  if (!session_) return {};
  const RxFrame frame = session_->rx.peek();
  if (!frame.data) publish_rx();
  return frame;
}

void ShmLinkPort::rx_release() {
  session_->rx.release();
  if (session_->rx.should_publish()) publish_rx();
}

// Takes wake-ups off the socket. False: the peer is gone.
bool ShmLinkPort::socket_alive() {
  char bytes[64];
  for (int i = 0; i < 64; i++) {
    const ssize_t n = recv(session_->peer.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n == 0) return false;
  }
  return true;
}

void ShmLinkPort::check_session(Nanos now) {
  bool good = true;
  if (session_->broken()) {
    bad_records_++;
    good = false;
  } else if (check_socket_ || now >= next_check_) {
    check_socket_ = false;
    next_check_ = now + kSocketCheck;
    good = socket_alive();
  }
  if (good) return;
  session_.reset();
  handshake_.restart(now);
}

Nanos ShmLinkPort::poll(Nanos now) {
  if (session_) check_session(now);
  if (session_) return kNever;
  if (!handshake_.poll(now)) return handshake_.next();
  session_.emplace(handshake_.take());
  next_check_ = now;
  set_local_up(local_up_);
  return kNever;
}

void ShmLinkPort::set_local_up(bool up) {
  local_up_ = up;
  if (!session_) return;
  session_->tx.set_up(up);
  kick();
}

bool ShmLinkPort::prepare_sleep(bool want_tx_room) {
  if (!session_) return true;
  tx_flush();
  publish_rx();
  if (!session_->rx.prepare_sleep()) return false;
  if (!want_tx_room || session_->tx.prepare_wait()) return !session_->broken();
  session_->rx.cancel_sleep();
  return false;
}

void ShmLinkPort::cancel_sleep() {
  check_socket_ = true;
  if (!session_) return;
  session_->rx.cancel_sleep();
  session_->tx.cancel_wait();
}

size_t ShmLinkPort::poll_fds(struct pollfd* fds, size_t max) const {
  const int fd = session_ ? session_->peer.socket.get() : handshake_.wait_fd();
  if (fd < 0 || max == 0) return 0;
  fds[0] = {fd, POLLIN, 0};
  return 1;
}

}  // namespace verna
