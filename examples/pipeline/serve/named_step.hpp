// SPDX-License-Identifier: Apache-2.0
// NamedStep kills this process where a test wants it to die: at a named step of serving and of
// going on after a death. It happens once in a run, however often the process is replaced.
//
// Threads: one.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace aqua::pipeline {

// What a process does in one term, in this order. `stepped` is behind its twentieth step.
inline constexpr std::array<std::string_view, 7> kNamedSteps{
    "listening", "surveyed", "restoring", "restored", "resumed", "connected", "stepped"};

class NamedStep {
 public:
  // The step at which to die; empty: none. `mark` is a file that is there once it has happened.
  NamedStep(std::string name, std::filesystem::path mark)
      : name_(std::move(name)), mark_(std::move(mark)) {}
  // Does not return where it is time to die.
  void reached(std::string_view step) const;

 private:
  const std::string name_;
  const std::filesystem::path mark_;
};

}  // namespace aqua::pipeline
