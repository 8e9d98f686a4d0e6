// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/control_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace verna {

namespace {

// A socket file outlives the process that made it; only a connection tells whether one listens.
bool somebody_listens(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool connected =
      fd >= 0 && connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const bool busy = connected || errno == EAGAIN;
  if (fd >= 0) close(fd);
  return busy;
}

bool is_socket(const std::string& path) {
  struct stat st;
  const int error = errno;
  const bool yes = lstat(path.c_str(), &st) == 0 && S_ISSOCK(st.st_mode);
  errno = error;
  return yes;
}

int listen_at(const std::string& path, std::string* error) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    *error = "the path must have 1 to " + std::to_string(sizeof address.sun_path - 1) + " bytes";
    return -1;
  }
  path.copy(address.sun_path, path.size());
  if (somebody_listens(address)) {
    *error = "in use";
    return -1;
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const auto try_bind = [&] {
    return bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  };
  bool bound = fd >= 0 && try_bind();
  if (!bound && errno == EADDRINUSE && is_socket(path)) {
    unlink(path.c_str());
    bound = try_bind();
  }
  if (bound && ::listen(fd, 4) == 0) return fd;
  *error = std::strerror(errno);
  if (fd >= 0) close(fd);
  return -1;
}

}  // namespace

std::unique_ptr<ControlServer> ControlServer::listen(const std::string& path, std::string* error) {
  const int listener = listen_at(path, error);
  if (listener < 0) return nullptr;
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  auto server = std::unique_ptr<ControlServer>(new ControlServer(path, listener, epoll));
  if (epoll >= 0) return server;
  *error = std::strerror(errno);
  return nullptr;
}

ControlServer::ControlServer(std::string path, int listener, int epoll)
    : path_(std::move(path)), listener_(listener), epoll_(epoll) {
  watch(listener_, EPOLLIN, nullptr, EPOLL_CTL_ADD);
}

ControlServer::~ControlServer() {
  for (const Client& client : clients_) close(client.fd);
  close(listener_);
  if (epoll_ >= 0) close(epoll_);
  unlink(path_.c_str());
}

void ControlServer::watch(int fd, uint32_t events, void* what, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = what;
  epoll_ctl(epoll_, operation, fd, &event);
}

void ControlServer::serve(const Answer& answer) {
  epoll_event events[kMaxClients];
  const int n = epoll_wait(epoll_, events, kMaxClients, 0);
  for (int i = 0; i < n; i++) {
    Client* client = static_cast<Client*>(events[i].data.ptr);
    if (!client)
      accept_client();
    else if (!serve_client(*client, answer))
      drop(client);
  }
}

void ControlServer::accept_client() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (clients_.size() == kMaxClients) {
    close(fd);
    return;
  }
  clients_.push_back({fd, {}, {}});
  watch(fd, EPOLLIN, &clients_.back(), EPOLL_CTL_ADD);
}

void ControlServer::drop(Client* client) {
  close(client->fd);  // which also ends its watch
  clients_.remove_if([client](const Client& c) { return &c == client; });
}

// False: the client is gone or breaks the rules.
bool ControlServer::serve_client(Client& client, const Answer& answer) {
  const bool good = client.output.empty() ? receive(client, answer) : send(client);
  if (good) watch(client.fd, client.output.empty() ? EPOLLIN : EPOLLOUT, &client, EPOLL_CTL_MOD);
  return good;
}

bool ControlServer::receive(Client& client, const Answer& answer) {
  // Byte by byte until the end of the line: what follows stays in the socket.
  char byte;
  ssize_t n;
  while ((n = recv(client.fd, &byte, 1, 0)) == 1 && byte != '\n') {
    if (client.request.size() == kMaxRequest) return false;
    client.request += byte;
  }
  if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EINTR);
  client.output = answer(client.request) + "\n";
  client.request.clear();
  return send(client);
}

bool ControlServer::send(Client& client) {
  const ssize_t n = ::send(client.fd, client.output.data() + client.sent,
                           client.output.size() - client.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  client.sent += static_cast<size_t>(n);
  if (client.sent == client.output.size()) {
    client.output.clear();
    client.sent = 0;
  }
  return true;
}

}  // namespace verna
