// SPDX-License-Identifier: Apache-2.0
// NamedStep kills or stops this process where a test wants that: at a named step of serving and of
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
  // The steps at which to die and to stop; empty: none. A file in the folder, which has the
  // process's name, tells that it has happened.
  NamedStep(std::string die_at, std::string stop_at, std::filesystem::path directory,
            std::string process)
      : die_at_(std::move(die_at)),
        stop_at_(std::move(stop_at)),
        directory_(std::move(directory)),
        process_(std::move(process)) {}
  // Does not return where it is time.
  void reached(std::string_view step) const;

 private:
  void at(std::string_view step, const std::string& wanted, int signal) const;

  const std::string die_at_, stop_at_;
  const std::filesystem::path directory_;
  const std::string process_;
};

}  // namespace aqua::pipeline
