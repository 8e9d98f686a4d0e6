// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/control_server.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace verna {
namespace {

class ControlServerTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/verna-ctl-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/ctl";
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(directory_);
  }
  bool listen() {
    server_ = ControlServer::listen(path_, &error_);
    return server_ != nullptr;
  }
  int connect() {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  void serve() {
    pollfd fd{server_->fd(), POLLIN, 0};
    for (int i = 0; i < 100 && poll(&fd, 1, 0) == 1; i++)
      server_->serve([this](const std::string& request) {
        requests_.push_back(request);
        return "[" + request + std::string(padding_, ' ') + "]";
      });
  }
  static std::string read_all(int fd) {
    char buffer[4096];
    const ssize_t n = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : "";
  }

  std::string directory_, path_, error_;
  std::unique_ptr<ControlServer> server_;
  std::vector<std::string> requests_;
  size_t padding_ = 0;
};

TEST_F(ControlServerTest, AnswersLines) {
  ASSERT_TRUE(listen()) << error_;
  const int fd = connect();
  ASSERT_EQ(send(fd, "regs\nca", 7, 0), 7);
  serve();
  EXPECT_EQ(read_all(fd), "[regs]\n");
  ASSERT_EQ(send(fd, "ps\n", 3, 0), 3);
  serve();
  EXPECT_EQ(read_all(fd), "[caps]\n");
  close(fd);
}

TEST_F(ControlServerTest, ServesSeveralAndForgetsThoseWhoLeave) {
  ASSERT_TRUE(listen());
  for (int round = 0; round < 20; round++) {
    const int a = connect();
    const int b = connect();
    send(a, "a\n", 2, 0);
    send(b, "b\n", 2, 0);
    serve();
    serve();
    EXPECT_EQ(read_all(a), "[a]\n");
    EXPECT_EQ(read_all(b), "[b]\n");
    close(a);
    close(b);
  }
}

TEST_F(ControlServerTest, EndlessRequestEndsTheConnection) {
  ASSERT_TRUE(listen());
  const int fd = connect();
  const std::string words(5000, 'x');
  send(fd, words.data(), words.size(), MSG_DONTWAIT);
  serve();
  serve();
  char byte;
  EXPECT_LE(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_TRUE(requests_.empty());
  close(fd);
}

TEST_F(ControlServerTest, ClientThatDoesNotReadGetsNoSecondAnswerAndHoldsNobodyUp) {
  ASSERT_TRUE(listen());
  padding_ = 4u << 20;
  const int slow = connect();
  for (int i = 0; i < 10; i++) send(slow, "big\n", 4, 0);
  serve();
  serve();
  EXPECT_EQ(requests_.size(), 1u) << "the first answer is still on its way";
  padding_ = 0;
  const int quick = connect();
  send(quick, "q\n", 2, 0);
  serve();
  serve();
  EXPECT_EQ(read_all(quick), "[q]\n");
  close(slow);
  close(quick);
}

TEST_F(ControlServerTest, TooManyClientsAreTurnedAway) {
  ASSERT_TRUE(listen());
  std::vector<int> fds;
  for (int i = 0; i < 12; i++) {
    fds.push_back(connect());
    serve();
  }
  char byte;
  EXPECT_EQ(recv(fds.back(), &byte, 1, MSG_DONTWAIT), 0);
  for (int fd : fds) close(fd);
}

TEST_F(ControlServerTest, TakesOverADeadSocketButNothingElse) {
  ASSERT_TRUE(listen());
  std::string error;
  EXPECT_EQ(ControlServer::listen(path_, &error), nullptr);
  EXPECT_EQ(error, "in use");
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
  std::ofstream(path_) << "precious";
  EXPECT_FALSE(listen());
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
}

}  // namespace
}  // namespace verna
