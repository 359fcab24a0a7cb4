// SPDX-License-Identifier: Apache-2.0
// Connecting to those who do not answer, and clearing up after those who never will.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <span>
#include <string>
#include <vector>

#include "base/socket/stale_sockets.hpp"
#include "base/socket/unix_socket.hpp"

namespace aqua {
namespace {

class Sockets : public ::testing::Test {
 protected:
  Sockets() {
    std::string name = "/tmp/aqua-sockets-XXXXXX";
    directory_ = ::mkdtemp(name.data());
  }
  ~Sockets() override { std::filesystem::remove_all(directory_); }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  void age(const std::string& name) const {
    const std::array<timespec, 2> long_ago{timespec{1'000'000'000, 0}, timespec{1'000'000'000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path(name).c_str(), long_ago.data(), 0), 0);
  }

  std::string directory_;
};

TEST_F(Sockets, NobodyThereIsUnavailable) {
  EXPECT_EQ(connect_seqpacket(path("none")).error().code, Code::unavailable);
  { const auto gone = listen_seqpacket(path("gone")); }
  EXPECT_EQ(connect_seqpacket(path("gone")).error().code, Code::unavailable);
}

TEST_F(Sockets, AFullQueueIsSomebodyThere) {
  const auto listener = listen_seqpacket(path("busy"));
  ASSERT_TRUE(listener.ok());
  ASSERT_EQ(::listen(listener->get(), 0), 0);
  std::vector<UniqueFd> waiting;
  Code code = Code::internal;
  for (int i = 0; i < 8; ++i) {
    auto connection = connect_seqpacket(path("busy"), std::chrono::milliseconds(20));
    if (!connection.ok()) {
      code = connection.error().code;
      break;
    }
    waiting.push_back(std::move(connection).value());
  }
  EXPECT_EQ(code, Code::deadline_exceeded);
}

// poll() counts in 32 bits, of which 2^32 milliseconds would be none.
TEST_F(Sockets, WhoWaitsForMonthsHearsWhatComesAfterAnotherHasGivenUp) {
  std::array<int, 2> impatient{}, patient{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, impatient.data()), 0);
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, patient.data()), 0);
  const std::array<UniqueFd, 4> owned{UniqueFd(impatient[0]), UniqueFd(impatient[1]),
                                      UniqueFd(patient[0]), UniqueFd(patient[1])};
  constexpr std::chrono::milliseconds kSoon{20}, kMonths{std::int64_t{1} << 32};
  auto heard = std::async(std::launch::async,
                          [&] { return receive_message(patient[0], 16, kMonths + kSoon); });
  EXPECT_EQ(receive_message(impatient[0], 16, 10 * kSoon).error().code, Code::deadline_exceeded);
  const std::string words = "at last";
  const auto bytes = std::as_bytes(std::span(words));
  EXPECT_TRUE(send_message(patient[1], bytes, {}, std::chrono::seconds(60)).ok());
  const auto message = heard.get();
  ASSERT_TRUE(message.ok()) << message.error().message;
  EXPECT_TRUE(std::ranges::equal(message->bytes, bytes));
}

TEST_F(Sockets, OnlyOldSocketsOfTheirNameThatNobodyListensOnAreRemoved) {
  for (const char* name : {"x-dead", "x-young", "y-other"}) {
    const auto left_behind = listen_seqpacket(path(name));
    ASSERT_TRUE(left_behind.ok());
  }
  const auto live = listen_seqpacket(path("x-live"));
  ASSERT_TRUE(live.ok());
  const UniqueFd file(::open(path("x-file").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  for (const char* name : {"x-dead", "y-other", "x-live", "x-file"}) age(name);

  remove_stale_sockets(directory_, "x-");

  EXPECT_FALSE(std::filesystem::exists(path("x-dead")));
  for (const char* name : {"x-young", "y-other", "x-live", "x-file"})
    EXPECT_TRUE(std::filesystem::exists(path(name))) << name;
  remove_stale_sockets(path("no such directory"), "x-");
}

}  // namespace
}  // namespace aqua
