// SPDX-License-Identifier: Apache-2.0
// A real aqua-keeper for tests, in a directory of its own; killed at the end. Needs
// AQUA_KEEPER_PROGRAM.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <optional>
#include <string>
#include <string_view>

#include "tests/base/temp_dir.hpp"
#include "tests/coordinator/child_process.hpp"

namespace aqua::test {

class KeeperProcess {
 public:
  // Ready when this returns.
  KeeperProcess() { start(); }

  void start() { start({AQUA_KEEPER_PROGRAM, "--socket", socket()}); }
  // By a command that ends as one of these.
  void start(const std::vector<std::string>& arguments) {
    process_.emplace(arguments);
    const std::string line = process_->read_line();
    EXPECT_EQ(line, "listening on " + socket());
  }
  void kill() {
    process_->signal(SIGKILL);
    process_->wait();
  }
  // By SIGTERM; returns the exit status.
  int stop() {
    process_->signal(SIGTERM);
    return process_->wait();
  }
  [[nodiscard]] std::string socket() const { return dir_ / "keeper.sock"; }
  [[nodiscard]] testing::ChildProcess& process() { return *process_; }

 private:
  testing::TempDir dir_;
  std::optional<testing::ChildProcess> process_;
};

}  // namespace aqua::test
