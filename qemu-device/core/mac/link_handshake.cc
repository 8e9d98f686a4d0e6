// SPDX-License-Identifier: GPL-2.0-or-later
#include "mac/link_handshake.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "mac/shm_ring.h"

namespace verna {

namespace {

constexpr uint64_t kMagic = 0x6b6e694c616e7256;  // "VrnaLink"
constexpr uint32_t kVersion = 1;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

enum class Kind : uint32_t { kHello = 1, kOffer = 2, kConfirm = 3 };

/// Every message of the handshake. The offer carries the memory's descriptor.
struct Message {
  uint64_t magic;
  uint32_t version;
  Kind kind;
  uint32_t ring_bytes;
  uint32_t reserved;
};
static_assert(sizeof(Message) == 24);

Message make_message(Kind kind, uint32_t ring_bytes) {
  return {kMagic, kVersion, kind, ring_bytes, 0};
}

bool valid(const Message& m, Kind kind) {
  return m.magic == kMagic && m.version == kVersion && m.kind == kind &&
         ring_size_valid(m.ring_bytes);
}

bool send_message(int socket, const Message& message, int fd) {
  Message copy = message;
  iovec iov{&copy, sizeof copy};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &iov;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
  }
  return sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof message);
}

// Keeps the first descriptor of a message and closes any others that a peer slipped in.
void collect_fds(msghdr* header, Fd* out) {
  for (cmsghdr* c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      Fd owned(fd);
      if (!*out) *out = std::move(owned);
    }
  }
}

/// Receives one message. Null `out_fd`: descriptors that come along are dropped by the kernel.
/// Returns 1: a whole message, 0: nothing yet, -1: end, error or not a message of ours.
int receive_message(int socket, Message* message, Fd* out_fd) {
  iovec iov{message, sizeof *message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr header{};
  header.msg_iov = &iov;
  header.msg_iovlen = 1;
  header.msg_control = out_fd ? control : nullptr;
  header.msg_controllen = out_fd ? sizeof control : 0;
  const ssize_t n = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
  if (out_fd) collect_fds(&header, out_fd);
  return n == static_cast<ssize_t>(sizeof *message) && !(header.msg_flags & MSG_TRUNC) ? 1 : -1;
}

bool make_address(const std::string& path, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  if (path.size() >= sizeof address->sun_path) return false;
  path.copy(address->sun_path, path.size());
  return true;
}

Fd open_socket() { return Fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

}  // namespace

void Fd::reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

LinkMemory::LinkMemory(LinkMemory&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      ring_bytes_(std::exchange(other.ring_bytes_, 0)) {}

LinkMemory& LinkMemory::operator=(LinkMemory&& other) noexcept {
  unmap();
  base_ = std::exchange(other.base_, nullptr);
  ring_bytes_ = std::exchange(other.ring_bytes_, 0);
  return *this;
}

LinkMemory::~LinkMemory() { unmap(); }

void LinkMemory::unmap() {
  if (base_) munmap(base_, total(ring_bytes_));
  base_ = nullptr;
}

bool LinkMemory::map(int fd, uint32_t ring_bytes) {
  unmap();
  // Populated now, so that the data path takes no page faults.
  void* memory =
      mmap(nullptr, total(ring_bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (memory == MAP_FAILED) return false;
  base_ = static_cast<uint8_t*>(memory);
  ring_bytes_ = ring_bytes;
  return true;
}

bool LinkMemory::create(uint32_t ring_bytes, Fd* fd) {
  Fd memory(memfd_create("verna-link", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const off_t size = static_cast<off_t>(total(ring_bytes));
  // Allocated now: memory that is not there later would be a SIGBUS.
  if (!memory || ftruncate(memory.get(), size) || fallocate(memory.get(), 0, 0, size) ||
      fcntl(memory.get(), F_ADD_SEALS, kSeals) || !map(memory.get(), ring_bytes))
    return false;
  *fd = std::move(memory);
  return true;
}

bool LinkMemory::adopt(const Fd& fd, uint32_t ring_bytes) {
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) return false;
  struct stat st;
  if (fstat(fd.get(), &st) || st.st_size != static_cast<off_t>(total(ring_bytes))) return false;
  return map(fd.get(), ring_bytes);
}

LinkHandshake::LinkHandshake(std::string path, uint32_t ring_bytes)
    : path_(std::move(path)), ring_bytes_(ring_bytes) {}

LinkHandshake::~LinkHandshake() {
  if (!lock_) return;
  // Who has the lock owns both names, so that this cannot remove what is somebody else's.
  unlink(path_.c_str());
  unlink((path_ + ".lock").c_str());
}

int LinkHandshake::wait_fd() const {
  switch (state_) {
    case State::kListening:
      return listener_.get();
    case State::kWaitHello:
    case State::kWaitConfirm:
    case State::kWaitOffer:
      return peer_.socket.get();
    default:
      return -1;
  }
}

void LinkHandshake::wait_for(State state, Nanos now) {
  state_ = state;
  next_ = now + kPatience;
}

void LinkHandshake::give_up(Nanos now) {
  peer_ = {};
  state_ = State::kIdle;
  next_ = std::max(earliest_, now + 1);
}

void LinkHandshake::restart(Nanos now) { give_up(now); }

LinkPeer LinkHandshake::take() {
  state_ = State::kIdle;
  return std::exchange(peer_, {});
}

bool LinkHandshake::poll(Nanos now) {
  for (int steps = 0; steps < 4; steps++) {
    const State before = state_;
    step(now);
    if (state_ == State::kDone) return true;
    if (state_ == before || state_ == State::kIdle) break;
  }
  return false;
}

void LinkHandshake::step(Nanos now) {
  bool good = true;
  switch (state_) {
    case State::kIdle:
      if (now >= next_) good = begin(now);
      break;
    case State::kListening:
      good = accept_peer(now);
      break;
    case State::kWaitHello:
      good = on_hello();
      break;
    case State::kWaitConfirm:
      good = on_confirm();
      break;
    case State::kWaitOffer:
      good = on_offer();
      break;
    case State::kDone:
      return;
  }
  const bool waits =
      state_ == State::kWaitHello || state_ == State::kWaitConfirm || state_ == State::kWaitOffer;
  if (!good || (waits && now >= next_)) give_up(now);
}

// A new attempt: we listen if we did, connect if somebody else does, and else try to be the one who
// listens.
bool LinkHandshake::begin(Nanos now) {
  earliest_ = now + kPause;
  if (listener_ || (!connect_peer(now) && listen_at_path())) {
    state_ = State::kListening;
    next_ = kNever;
  }
  return state_ != State::kIdle;
}

bool LinkHandshake::connect_peer(Nanos now) {
  sockaddr_un address;
  Fd socket = open_socket();
  if (!socket || !make_address(path_, &address) ||
      connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address))
    return false;
  if (!send_message(socket.get(), make_message(Kind::kHello, ring_bytes_), -1)) return false;
  peer_.socket = std::move(socket);
  wait_for(State::kWaitOffer, now);
  return true;
}

// The lock says who may bind the path. It ends with the process that holds it, unlike the socket's
// name. The file may have been removed between open() and flock(); then it is not the lock any
// more.
bool LinkHandshake::take_lock() {
  const std::string name = path_ + ".lock";
  Fd lock(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0660));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB)) return false;
  struct stat ours, named;
  if (fstat(lock.get(), &ours) || stat(name.c_str(), &named) || ours.st_ino != named.st_ino ||
      ours.st_dev != named.st_dev)
    return false;
  lock_ = std::move(lock);
  return true;
}

bool LinkHandshake::listen_at_path() {
  if (!lock_ && !take_lock()) return false;
  struct stat st;
  if (lstat(path_.c_str(), &st) == 0 && S_ISSOCK(st.st_mode)) unlink(path_.c_str());
  sockaddr_un address;
  Fd socket = open_socket();
  if (!socket || !make_address(path_, &address) ||
      bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) ||
      listen(socket.get(), 4)) {
    unlink((path_ + ".lock").c_str());
    lock_.reset();
    return false;
  }
  listener_ = std::move(socket);
  return true;
}

bool LinkHandshake::accept_peer(Nanos now) {
  Fd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
  earliest_ = now + kPause;
  peer_.socket = std::move(socket);
  wait_for(State::kWaitHello, now);
  return true;
}

bool LinkHandshake::on_hello() {
  Message hello;
  const int got = receive_message(peer_.socket.get(), &hello, nullptr);
  if (got <= 0) return got == 0;
  if (!valid(hello, Kind::kHello)) return false;
  Fd memory;
  const uint32_t ring_bytes = std::max(hello.ring_bytes, ring_bytes_);
  if (!peer_.memory.create(ring_bytes, &memory)) return false;
  if (!send_message(peer_.socket.get(), make_message(Kind::kOffer, ring_bytes), memory.get()))
    return false;
  peer_.tx_direction = 0;
  state_ = State::kWaitConfirm;  // the time limit is that of the whole handshake
  return true;
}

bool LinkHandshake::on_confirm() {
  Message confirm;
  const int got = receive_message(peer_.socket.get(), &confirm, nullptr);
  if (got <= 0) return got == 0;
  if (!valid(confirm, Kind::kConfirm)) return false;
  state_ = State::kDone;
  return true;
}

bool LinkHandshake::on_offer() {
  Message offer;
  Fd memory;
  const int got = receive_message(peer_.socket.get(), &offer, &memory);
  if (got <= 0) return got == 0;
  if (!valid(offer, Kind::kOffer) || !memory || !peer_.memory.adopt(memory, offer.ring_bytes) ||
      !send_message(peer_.socket.get(), make_message(Kind::kConfirm, offer.ring_bytes), -1))
    return false;
  peer_.tx_direction = 1;
  state_ = State::kDone;
  return true;
}

}  // namespace verna
