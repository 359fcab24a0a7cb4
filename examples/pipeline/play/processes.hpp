// SPDX-License-Identifier: Apache-2.0
// Processes are those of one pipeline, stage by stage and rank by rank, as the orchestrator has
// them. A death is noticed at once, by the process's pidfd; who has been killed is replaced, and
// all are wired anew under the next term. Who is stopped is alive: it is killed once its lease has
// run out (Options::ttl_ms).
//
// Threads: one, which lives as long as the processes. Errors: Failure, which names who ended by an
//          error of its own.
#pragma once

#include <poll.h>

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "child_process.hpp"
#include "options.hpp"
#include "serve/resuming.hpp"
#include "serve/step.hpp"

namespace aqua::pipeline {

// The daemon whose memory holds what is streamed, once it listens.
[[nodiscard]] example::ChildProcess start_keeper(const Options& options,
                                                 const std::filesystem::path& directory);

class Processes {
 public:
  // Starts all of them; returns once they are connected with each other. Their sockets lie in
  // `directory`. With options.flip the first process damages a byte.
  Processes(const std::string& name, const PipelineShape& shape, const Options& options,
            const std::filesystem::path& directory);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const PipelineShape& shape() const { return shape_; }
  // To each rank of the first stage. Of one that has died broken() tells.
  void order(const Order& order);
  // What poll() is to look at: deaths, and what the last stage says.
  void watch(std::vector<pollfd>& into) const;
  // What the last stage has said by now.
  [[nodiscard]] std::vector<Sampled> take();

  // Whether a process has been killed. Kills those whose leases have run out, which count as killed
  // from a later call on.
  [[nodiscard]] bool broken();
  // Replaces who has been killed; all leave what they do, and listen. Returns what the last stage
  // had said before.
  [[nodiscard]] std::vector<Sampled> replace_killed();
  // Then: what each stage has of these sequences, the least of its ranks counting. None: another
  // one has been killed meanwhile, and it is all to be done again.
  [[nodiscard]] std::optional<std::vector<std::vector<Mark>>> survey(
      const std::vector<KnownSequence>& sequences);
  // Then: all connect, and go on from there with these sequences alone; all others below `begun`
  // have ended. False: likewise.
  [[nodiscard]] bool connect(const std::vector<Resume>& sequences, Word begun);
  // By stage: whether one of its ranks was replaced, and the stage not connected since.
  [[nodiscard]] const std::vector<bool>& lost() const { return lost_; }
  [[nodiscard]] unsigned deaths() const { return deaths_; }  // so far
  // Processes that were killed since their leases had run out.
  [[nodiscard]] unsigned silent() const { return static_cast<unsigned>(silent_.size()); }

  void signal(unsigned stage, unsigned rank, int number);
  // Kills all, whose successors are on another server: their sockets lie in that directory, and so
  // does that of the keeper beside them.
  void lose_server(const std::filesystem::path& next);
  // Lets the processes end, and sees that they do so in peace, but for those that are killed.
  // Whether none was, and left what it had with the keeper.
  bool finish();

 private:
  struct Member {
    Place place{};
    std::optional<example::ChildProcess> process{};
  };

  [[nodiscard]] example::ChildProcess& last();
  void kill_silent();
  void tell(Member& member, const nlohmann::json& message);
  // The next thing that the process says of this kind (a word that is in it); what it says before
  // is of an earlier term, or tokens: these count. None: somebody has been killed meanwhile.
  [[nodiscard]] std::optional<nlohmann::json> hear(Member& member, const char* kind, unsigned term,
                                                   std::vector<Sampled>& said);
  [[nodiscard]] bool await_all(const Wired& wanted, std::vector<Sampled>& said);
  [[nodiscard]] std::vector<std::string> command_line(const Place& place) const;
  [[nodiscard]] example::ChildProcess start(const Place& place) const;
  [[nodiscard]] example::ChildProcess start_standby() const;
  // Somebody who stands by, or a new process.
  void replace(Member& member);

  const std::string name_;
  const PipelineShape shape_;
  const Options options_;
  std::filesystem::path directory_;
  unsigned term_ = 1;
  std::vector<Member> members_{};  // by stage, then by rank
  std::optional<example::ChildProcess> standby_{};
  std::vector<bool> lost_;
  unsigned deaths_ = 0;
  std::set<pid_t> silent_{};
};

}  // namespace aqua::pipeline
