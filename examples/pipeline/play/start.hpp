// SPDX-License-Identifier: Apache-2.0
// Starts processes of this program in their roles.
//
// Threads: one, which lives as long as the processes. Errors: Failure.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "child_process.hpp"
#include "options.hpp"

namespace aqua::pipeline {

// What starts this program in that role (its option), which ends with this process.
[[nodiscard]] std::vector<std::string> role_line(const char* role,
                                                 const std::filesystem::path& directory);
// What starts the daemon whose memory holds what is streamed.
[[nodiscard]] std::vector<std::string> keeper_line(const Options& options,
                                                   const std::filesystem::path& directory);
// Returns it once it listens.
[[nodiscard]] example::ChildProcess start_keeper(const Options& options,
                                                 const std::filesystem::path& directory);

struct StageProcess {
  std::string pipeline{};
  PipelineShape shape{};
  std::optional<Place> place{};  // that it asks for; nullopt: it stands by
  std::string member{};          // its name in the group
  std::string coordinator{};     // where that listens
  std::filesystem::path directory{};
  pid_t host = 0;         // first process of the host that it runs on; 0: there are no hosts
  std::string address{};  // of that host
};
[[nodiscard]] example::ChildProcess start_stage(const Options& options, const StageProcess& stage);

}  // namespace aqua::pipeline
