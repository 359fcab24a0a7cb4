// SPDX-License-Identifier: Apache-2.0
// A member of a group of two decode stages, in a process of its own.
//
// Needs AQUA_TEST_CLIENT_PROGRAM, which aqua_coordinator_test() in CMake defines.
// Threads: one.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "base/concat.hpp"
#include "base/ids.hpp"
#include "groups/types.hpp"
#include "tests/coordinator/child_process.hpp"

namespace aqua::testing {

inline constexpr std::uint32_t kStandby = 2;  // for a stage

// Has joined when it is made, and goes through recoveries by itself.
struct MemberProcess {
  MemberProcess(const std::string& coordinator, std::uint32_t stage)
      : process({AQUA_TEST_CLIENT_PROGRAM, "group", coordinator, to_string(id),
                 std::to_string(stage)}) {
    EXPECT_EQ(process.read_line(), concat("joined ", stage));
  }
  void kill() {
    process.signal(SIGKILL);
    process.wait();
  }
  // Terms between may have been seen, too.
  void runs(groups::Term term, std::uint32_t stage) {
    const std::string wanted = concat("running ", term, " ", stage);
    std::string line;
    do {
      line = process.read_line();
    } while (!line.empty() && line != wanted);
    EXPECT_EQ(line, wanted);
  }

  const ClientId id = random_id<ClientTag>();
  ChildProcess process;
};

}  // namespace aqua::testing
