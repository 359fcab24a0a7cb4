// SPDX-License-Identifier: Apache-2.0
// A real aqua-coordinator for tests, in a directory of its own; killed at the end.
//
//   DaemonProcess daemon;
//   auto client = southbound::Client::open({.coordinator = daemon.address(), ...}, listener);
//
// Needs AQUA_COORDINATOR_PROGRAM, which aqua_coordinator_test() in CMake defines.
// Threads: one.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "tests/base/temp_dir.hpp"
#include "tests/coordinator/child_process.hpp"

namespace aqua::testing {

class DaemonProcess {
 public:
  // Ready when this returns. `extra` arguments come last, so --listen there wins.
  explicit DaemonProcess(std::vector<std::string> extra = {}) : extra_(std::move(extra)) {
    start();
  }

  ~DaemonProcess() {
    // A sanitizer's complaint must not vanish with the daemon that is killed now.
    EXPECT_EQ(log().find("Sanitizer"), std::string::npos) << log();
    EXPECT_EQ(log().find("Assertion"), std::string::npos) << log();
  }
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  // Starts again after stop() or kill(), on the same paths.
  void start() {
    std::vector<std::string> arguments{AQUA_COORDINATOR_PROGRAM, "--data", data()};
    arguments.insert(arguments.end(), extra_.begin(), extra_.end());
    process_.emplace(arguments, log_path());
    constexpr std::string_view kReady = "listening on ";
    const std::string line = process_->read_line();
    EXPECT_TRUE(line.starts_with(kReady)) << "the daemon did not start: " << line << log();
    if (line.starts_with(kReady)) address_ = line.substr(kReady.size());
  }
  // By SIGTERM; returns the exit status.
  int stop() {
    process_->signal(SIGTERM);
    return process_->wait();
  }
  void kill() {
    process_->signal(SIGKILL);
    process_->wait();
  }

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] std::string data() const { return dir_ / "data"; }
  [[nodiscard]] std::string lifeline() const { return data() + "/lifeline.sock"; }
  [[nodiscard]] ChildProcess& process() { return *process_; }
  // What it has said to stderr so far.
  [[nodiscard]] std::string log() const {
    std::ifstream file(log_path());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  [[nodiscard]] std::string log_path() const { return dir_ / "log"; }

  const std::vector<std::string> extra_;
  TempDir dir_;
  std::string address_;
  std::optional<ChildProcess> process_;
};

}  // namespace aqua::testing
