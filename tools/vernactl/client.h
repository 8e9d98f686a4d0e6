// SPDX-License-Identifier: GPL-2.0-or-later
// The connection to a card's control socket.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace vernactl {

using Json = nlohmann::ordered_json;

/// What the user is told, without a stack trace.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Client {
 public:
  /// Connects to the socket that was given to the card as ctl=PATH. Throws Failure.
  explicit Client(const std::string& path);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Asks and waits for the answer, 10 s at most. Throws Failure if there is none, if it is no JSON
  /// or if it is {"error": ...}.
  Json ask(const std::string& request);

 private:
  std::string read_line();

  std::string path_;
  int fd_;
  std::string input_;
};

}  // namespace vernactl
