// SPDX-License-Identifier: Apache-2.0
// What the orchestrator borrows from the system: a private directory, and its signals.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

#include "fd.hpp"
#include "must.hpp"

namespace aqua::example {

// A fresh directory that only this user can enter; removed, with all in it, by the destructor.
// It is locked as long as it lives: what a killed process left beside it is removed, too.
class PrivateDirectory {
 public:
  PrivateDirectory();  // throws Failure
  ~PrivateDirectory();
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Fd lock_;
};

struct Interrupted : Failure {
  explicit Interrupted(int number) : Failure("interrupted"), signal(number) {}
  int signal;  // that came
};

// SIGINT, SIGTERM and SIGHUP as a descriptor that becomes readable. Blocks them in this
// thread, for good; make it before any thread.
class StopSignals {
 public:
  StopSignals();
  [[nodiscard]] int fd() const { return fd_.get(); }
  void check() const;  // throws Interrupted once one has come, and each time from then on

 private:
  Fd fd_;
};

// Memory of a process, what it shares counted in proportion (Pss); 0 when it is not to be had.
[[nodiscard]] std::uint64_t proportional_bytes(pid_t pid);

}  // namespace aqua::example
