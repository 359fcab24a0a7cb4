// SPDX-License-Identifier: Apache-2.0
// Draft is a plan while it is made: requests are put elsewhere as if moves took no time, which can
// be taken back, and commit() turns the outcome into moves that are feasible one stage after
// another.
//
// Threads: not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "aqua/packing/plan.hpp"
#include "systems/packing/decide/fleet.hpp"

namespace aqua::packing {

class Draft {
 public:
  Draft(Fleet& fleet, const PackerOptions& options) : fleet_(fleet), options_(options) {}

  // Begins a plan that moves so many requests at most.
  void begin(std::uint64_t most_moves);
  // Whether the plan may move this one as well.
  [[nodiscard]] bool affords(const Request& request) const;
  [[nodiscard]] std::uint64_t moves_left() const { return most_moves_ - moves_; }
  // Puts a resident on another engine, which is woken if it sleeps.
  void relocate(Request& request, Engine& to, Reason reason);

  using Mark = std::size_t;
  [[nodiscard]] Mark mark() const { return steps_.size(); }
  void rollback(Mark mark);  // takes back what was done since

  // Begins the moves, in stages, and adds them to the plan.
  void commit(Plan& plan);
  // Engines that relocate() has woken, those that nothing is on any more included.
  [[nodiscard]] const std::vector<EngineId>& woken() const { return woken_; }

 private:
  struct Origin {
    Engine* engine = nullptr;
    Reason reason = Reason::overload;  // of its last relocation
  };
  struct Step {
    Request* request = nullptr;
    Engine* from = nullptr;
    Reason reason = Reason::overload;  // that it had before
    bool first = false, woke = false;
  };
  struct Pending {
    Request* request = nullptr;
    Engine* to = nullptr;
    Engine* from = nullptr;
    Move move{};
  };
  [[nodiscard]] static std::uint64_t key(const Request& request) {
    return static_cast<std::uint64_t>(request.id);
  }
  void count(const Request& request, const Engine& origin, bool add);
  void put(Request& request, Engine& to);
  [[nodiscard]] std::vector<Pending> take_back();
  [[nodiscard]] Pending* begin_stages(std::vector<Pending>& pending);

  Fleet& fleet_;
  const PackerOptions& options_;
  std::uint64_t most_moves_ = 0, moves_ = 0, tokens_ = 0;
  std::unordered_map<std::uint64_t, Origin> origins_;
  std::vector<Request*> touched_;  // in the order of their first steps
  std::vector<Step> steps_;
  std::vector<EngineId> woken_;
};

}  // namespace aqua::packing
