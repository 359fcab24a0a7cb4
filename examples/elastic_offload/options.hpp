// SPDX-License-Identifier: Apache-2.0
// The command line of elastic_offload: what people give, and what the orchestrator gives to
// the processes that it starts.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "aqua/schedule/scheduler.hpp"
#include "expansion.hpp"
#include "sizes.hpp"
#include "tools/options/command_line.hpp"
#include "workload.hpp"

namespace aqua::example {

struct Options {
  enum class Role : std::uint8_t { orchestrator, coordinator, producer, consumer };

  Role role = Role::orchestrator;
  // --- for people ---
  WorkloadOptions workload{.requests = 240, .arrivals_in = std::chrono::milliseconds(10'000)};
  std::size_t compare = 60;  // requests served with and without lent memory; 0: none
  std::size_t host_link_mb_per_s = 300;
  std::optional<std::size_t> reclaim_at_mib{};  // of tensors in lent memory …
  double reclaim_after = 0.4;                   // … and of requests done
  std::chrono::milliseconds iteration{10};
  std::string policy{schedule::kDefaultPolicy};  // of schedule::scheduler_names(); the consumers'
  bool fallback = false;                         // of las and cfs to fcfs; see EngineOptions
  Expansion expansion{};                         // of the consumers' KV
  std::optional<std::uint64_t> resizes{};        // changes of frames that are to happen at least
  bool hostile = false;                          // the consumers' GPUs, see EmulatedGpuOptions
  bool kill_lender = false;                      // midway, with SIGKILL
  std::chrono::seconds timeout{300};
  std::uint16_t dashboard = 0;          // port; 0: none
  std::filesystem::path json{};         // empty: none
  std::filesystem::path html{};         // empty: none
  std::filesystem::path coordinator{};  // the daemon's program; empty: looked for
  // --- for the other roles ---
  unsigned index = 0;
  std::filesystem::path directory{};  // of sockets and data; private to the run
  pid_t parent = 0;

  // An automatic expansion is a trial of all that may happen to it.
  [[nodiscard]] bool hostile_device() const { return hostile || expansion.automatic; }
  [[nodiscard]] bool kills_lender() const { return kill_lender || expansion.automatic; }
  [[nodiscard]] std::uint64_t least_resizes() const {
    return expansion.on() ? resizes.value_or(expansion.automatic ? 200 : 0) : 0;
  }
  // Layers that are away are in lent memory whatever preempted sequences use: nothing to compare.
  [[nodiscard]] std::size_t requests_to_compare() const { return expansion.on() ? 0 : compare; }
  // Those that preempt for memory only fill little lent memory.
  [[nodiscard]] std::size_t reclaim_at() const {
    return reclaim_at_mib.value_or(policy == "fcfs" || policy == "vtc" ? 1 : 512);
  }
};

// The line that fills `options`, which must outlive it.
[[nodiscard]] CommandLine options_line(Options& options);

}  // namespace aqua::example
