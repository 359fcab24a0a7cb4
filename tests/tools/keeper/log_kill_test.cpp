// SPDX-License-Identifier: Apache-2.0
// A log on a real disk, whose processes are killed.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "tests/tools/keeper/log_on_disk.hpp"

namespace aqua::keeper::test {
namespace {

TEST_F(LogOnDisk, ItsProcessKilledAtRandomLosesNothingThatItSaidWasSynced) {
  std::mt19937_64 random(11);
  std::uint64_t round = 0, acknowledged = 0;
  for (int life = 0; life < 30; ++life) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto log = open();
      while (log.ok()) {
        ++round;
        if (!log->put("blob " + std::to_string(round % 5), stamped(round)).ok()) break;
        if (!log->sync().ok()) break;
        if (::write(pipe[1], &round, sizeof(round)) != sizeof(round)) break;
      }
      ::_exit(1);
    }
    ::close(pipe[1]);
    const std::uint64_t last = acknowledged + 1 + random() % 40;
    while (acknowledged < last) {
      ASSERT_EQ(::read(pipe[0], &acknowledged, sizeof(acknowledged)),
                ssize_t{sizeof(acknowledged)});
    }
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    while (::read(pipe[0], &acknowledged, sizeof(acknowledged)) == ssize_t{sizeof(acknowledged)}) {
    }
    ::close(pipe[0]);

    auto log = open();
    ASSERT_TRUE(log.ok()) << log.error().message;
    round = acknowledged;
    for (const std::string& name : log->names()) {
      const auto bytes = log->read(name);
      ASSERT_TRUE(bytes.ok()) << bytes.error().message;
      std::uint64_t found = 0;
      std::memcpy(&found, bytes->data(), sizeof(found));
      EXPECT_EQ(*bytes, stamped(found));
      EXPECT_EQ(name, "blob " + std::to_string(found % 5));
      EXPECT_GT(found + 5, acknowledged) << "an older one than was acknowledged";
      round = std::max(round, found);
    }
    EXPECT_EQ(log->names().size(), std::min<std::uint64_t>(round, 5));
  }
}

}  // namespace
}  // namespace aqua::keeper::test
