// SPDX-License-Identifier: Apache-2.0
// StepLog keeps how long each step of a stage took, where the orchestrator finds it after the run:
// also what a process had done that was killed.
//
// Threads: one writes a stage's log; read once nobody writes. Errors: Failure.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <type_traits>
#include <vector>

#include "fd.hpp"
#include "serve/step.hpp"

namespace aqua::pipeline {

using StepClock = std::chrono::steady_clock;  // the same one for all processes

// Some tokens of a sequence, computed by one stage.
struct LoggedStep {
  Word sequence = 0;
  StepClock::time_point begin{}, end{};  // its input was here; its output was handed on
  std::uint32_t stage = 0;
  std::uint32_t first = 0, count = 0;  // tokens, as StepHead has them
};
static_assert(std::is_trivially_copyable_v<LoggedStep>);

class StepLog {
 public:
  // A process that takes a dead one's place goes on with its log.
  StepLog(const std::filesystem::path& directory, unsigned stage);
  void add(const StepHead& step, StepClock::time_point begin);  // which ends now

  // Reads the steps of all stages, each stage's in the order of time.
  [[nodiscard]] static std::vector<LoggedStep> read(const std::filesystem::path& directory,
                                                    unsigned stages);

 private:
  const unsigned stage_;
  example::Fd file_;
};

}  // namespace aqua::pipeline
