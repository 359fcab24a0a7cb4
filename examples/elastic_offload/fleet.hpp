// SPDX-License-Identifier: Apache-2.0
// Fleet: the processes of the demonstration, seen from the orchestrator: a coordinator, and an
// engine for each GPU.
//
// Threads: one. Owns: the processes; those that still run when it is destroyed are killed.
// Errors:  every method throws Failure when a process has ended that should not have, and
//          Interrupted after a stop signal.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "child_process.hpp"
#include "must.hpp"
#include "options.hpp"
#include "stats.hpp"
#include "workplace.hpp"

namespace aqua::example {

template <typename Stats>
struct Engine {
  ChildProcess process;
  Stats stats{};
  bool ready = false;
  bool final_stats = false;
  bool killed = false;  // by us: nothing more is expected of it
};

class Fleet {
 public:
  // Starts all, and returns once every engine is ready.
  Fleet(const Options& options, const std::filesystem::path& directory, const StopSignals& stop);

  // Takes in what the engines say, for at most `patience`, until there is something.
  void listen(std::chrono::milliseconds patience);
  // Has every engine finish, takes its last stats and waits for its end; then the coordinator's.
  void finish();

  // Kills a producer with SIGKILL. What it lends and keeps counts as nothing from then on.
  void kill(std::size_t producer);

  [[nodiscard]] std::vector<Engine<ConsumerStats>>& consumers() { return consumers_; }
  [[nodiscard]] std::vector<Engine<ProducerStats>>& producers() { return producers_; }
  [[nodiscard]] std::uint64_t memory_bytes() const;  // of all processes

 private:
  void start_coordinator(const Options& options, const std::filesystem::path& directory);
  template <typename Stats>
  void take_in(Engine<Stats>& engine);
  template <typename Stats>
  void finish(std::vector<Engine<Stats>>& engines);
  template <typename Enough>
  void listen_until(Enough enough, const std::string& what);

  const StopSignals& stop_;
  std::optional<ChildProcess> coordinator_;
  std::vector<Engine<ConsumerStats>> consumers_;
  std::vector<Engine<ProducerStats>> producers_;
  bool finishing_ = false;  // engines may end
};

}  // namespace aqua::example
