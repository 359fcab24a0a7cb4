// SPDX-License-Identifier: Apache-2.0
// NamedStep kills or stops this process, the coordinator or the keeper, where a test wants that: at
// a named step of serving and of going on after a death. It happens once in the group's first term,
// and once in a later one, however often the process is replaced.
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

// What a process does in one term, in this order. One of prefill has given the first layer of a
// prompt to the keeper where it is `streaming`, and all of it where that is `streamed`; one of
// decode is about to take one from there where it is `taking`. `stepped` is behind the twentieth
// step.
inline constexpr std::array<std::string_view, 12> kNamedSteps{
    "listening", "surveyed",  "acknowledged", "restoring", "restored", "resumed",
    "connected", "streaming", "streamed",     "taking",    "taken",    "stepped"};

// Something that happens at a step.
struct AtStep {
  std::string step{};
  bool stops = false;  // in place of being killed
  // To whom, by whichever process gets there first, and where that listens. None: to this process.
  std::string daemon{};
  std::filesystem::path socket{};
};

class NamedStep {
 public:
  // A file in the folder, which has the process's name, tells that something has happened. Of a
  // daemon the folder of its socket has it.
  NamedStep(std::vector<AtStep> all, std::filesystem::path directory, std::string process)
      : all_(std::move(all)), directory_(std::move(directory)), process_(std::move(process)) {}
  void in_term(std::uint64_t term) { recovers_ = term > 1; }
  // Does not return where it is this process's time.
  void reached(std::string_view step) const;

 private:
  void reach(const AtStep& wanted) const;

  std::vector<AtStep> all_;
  std::filesystem::path directory_;
  std::string process_;
  bool recovers_ = false;
};

}  // namespace aqua::pipeline
