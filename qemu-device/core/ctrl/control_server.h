// SPDX-License-Identifier: GPL-2.0-or-later
// The socket at which vernactl asks a running card.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

namespace verna {

/// A UNIX stream socket: a request is a line, its answer is a line of JSON. Never blocks: the owner
/// waits until fd() is readable, in whatever loop it has, and calls serve(). Bounded: a few
/// clients, short requests, and no further request of a client is read before it took its answer.
class ControlServer {
 public:
  using Answer = std::function<std::string(const std::string& request)>;

  /// Listens at `path`, where a socket that nobody listens at is replaced. Null: `*error` says why.
  static std::unique_ptr<ControlServer> listen(const std::string& path, std::string* error);
  /// Removes the socket.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  int fd() const { return epoll_; }
  void serve(const Answer& answer);

 private:
  static constexpr size_t kMaxClients = 8;
  static constexpr size_t kMaxRequest = 256;

  struct Client {
    int fd;
    std::string request;
    std::string output;
    size_t sent = 0;
  };

  ControlServer(std::string path, int listener, int epoll);
  void watch(int fd, uint32_t events, void* what, int operation);
  void accept_client();
  bool serve_client(Client& client, const Answer& answer);
  bool receive(Client& client, const Answer& answer);
  static bool send(Client& client);
  void drop(Client* client);

  std::string path_;
  int listener_;
  int epoll_;
  std::list<Client> clients_;
};

}  // namespace verna
