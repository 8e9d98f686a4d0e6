// SPDX-License-Identifier: GPL-2.0-or-later
#include "client.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vernactl {

namespace {

constexpr time_t kPatience = 10;  // seconds

std::string explain(int error) {
  switch (error) {
    case ENOENT:
      return "no such socket: is the card there, and was it given ctl=?";
    case ECONNREFUSED:
      return "nobody listens there: the card is gone";
    default:
      return std::strerror(error);
  }
}

}  // namespace

Client::Client(const std::string& path) : path_(path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    throw Failure(
        fmt::format("{}: a socket's path has 1 to {} bytes", path, sizeof address.sun_path - 1));
  path.copy(address.sun_path, path.size());
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{kPatience, 0};
  if (fd_ >= 0) setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (fd_ < 0 || connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address)) {
    const int error = errno;
    if (fd_ >= 0) close(fd_);
    throw Failure(fmt::format("{}: {}", path, explain(error)));
  }
}

Client::~Client() { close(fd_); }

Json Client::ask(const std::string& request) {
  const std::string line = request + "\n";
  if (send(fd_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    throw Failure(fmt::format("{}: {}", path_, std::strerror(errno)));
  Json answer = Json::parse(read_line(), nullptr, false);
  if (answer.is_discarded()) throw Failure(fmt::format("{}: the answer is no JSON", path_));
  if (answer.is_object() && answer.contains("error"))
    throw Failure(fmt::format("the card says: {}", answer["error"].get<std::string>()));
  return answer;
}

std::string Client::read_line() {
  size_t end;
  while ((end = input_.find('\n')) == std::string::npos) {
    char buffer[65536];
    const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
    if (n == 0) throw Failure(fmt::format("{}: the card closed the connection", path_));
    if (n < 0 && errno == EAGAIN)
      throw Failure(fmt::format("{}: no answer within {} s", path_, kPatience));
    if (n < 0) throw Failure(fmt::format("{}: {}", path_, std::strerror(errno)));
    input_.append(buffer, static_cast<size_t>(n));
  }
  std::string line = input_.substr(0, end);
  input_.erase(0, end + 1);
  return line;
}

}  // namespace vernactl
