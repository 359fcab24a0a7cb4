// SPDX-License-Identifier: Apache-2.0
// Processes are those of one pipeline, stage by stage and rank by rank, as the orchestrator has
// them. A death is noticed at once, by the process's pidfd.
//
// Threads: one, which lives as long as the processes. Errors: Failure, which names who died.
#pragma once

#include <poll.h>

#include <filesystem>
#include <string>
#include <vector>

#include "child_process.hpp"
#include "options.hpp"
#include "serve/step.hpp"

namespace aqua::pipeline {

class Processes {
 public:
  // Starts all of them; returns once they are connected with each other. Their sockets lie in
  // `directory`. With options.flip the first process damages a byte.
  Processes(const std::string& name, const PipelineShape& shape, const Options& options,
            const std::filesystem::path& directory);

  [[nodiscard]] const std::string& name() const { return name_; }
  // To each rank of the first stage.
  void order(const Order& order);
  // What poll() is to look at: deaths, and what the last stage says.
  void watch(std::vector<pollfd>& into) const;
  // What the last stage has said by now. Failure: a process has ended.
  [[nodiscard]] std::vector<Sampled> take();

  void kill(unsigned stage, unsigned rank);
  // Lets the processes end, and sees that they do so in peace.
  void finish();

 private:
  [[noreturn]] void throw_death();

  std::string name_;
  PipelineShape shape_;
  std::vector<example::ChildProcess> processes_{};  // by stage, then by rank
};

}  // namespace aqua::pipeline
