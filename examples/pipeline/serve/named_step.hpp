// SPDX-License-Identifier: Apache-2.0
// NamedStep kills or stops this process, or the coordinator, where a test wants that: at a named
// step of serving and of going on after a death. It happens once in the group's first term, and
// once in a later one, however often the process is replaced.
//
// Threads: one.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aqua::pipeline {

// What a process does in one term, in this order. `stepped` is behind its twentieth step.
inline constexpr std::array<std::string_view, 8> kNamedSteps{
    "listening", "surveyed", "acknowledged", "restoring",
    "restored",  "resumed",  "connected",    "stepped"};

// Something that happens at a step.
struct AtStep {
  std::string step{};
  bool stops = false;        // in place of being killed
  bool coordinator = false;  // by whichever process gets there first
};

class NamedStep {
 public:
  // A file in the folder, which has the process's name, tells that something has happened. Of the
  // coordinator, which listens at `coordinator` ("unix:PATH"), the folder of that has it.
  NamedStep(std::vector<AtStep> all, std::filesystem::path directory, std::string process,
            std::string coordinator)
      : all_(std::move(all)),
        directory_(std::move(directory)),
        process_(std::move(process)),
        coordinator_(std::move(coordinator)) {}
  void in_term(std::uint64_t term) { recovers_ = term > 1; }
  // Does not return where it is this process's time.
  void reached(std::string_view step) const;

 private:
  void reach(const AtStep& wanted) const;

  std::vector<AtStep> all_;
  std::filesystem::path directory_;
  std::string process_;
  std::string coordinator_;
  bool recovers_ = false;
};

}  // namespace aqua::pipeline
