// SPDX-License-Identifier: Apache-2.0
// OpenLoop: requests come when they come, a scheduler of aqua/schedule decides every iteration,
// llama.cpp computes it, and preempted sequences wait in a Parking. As the simulator has it: who
// has come is noticed at the boundary of iterations, and copies stop the engine.
//
// With a prefix cache a request's first page-in fetches what is cached of its prompt, and what it
// computes is stored once it has its first token. A hit holds nothing until it is fetched: where
// some of it is gone by then, all of it is computed. Preempted sequences come before cached
// prefixes.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "aqua/schedule/scheduler.hpp"
#include "batch_engine.hpp"
#include "copy_costs.hpp"
#include "engine_clock.hpp"
#include "parking.hpp"
#include "prefix/cached_prompts.hpp"
#include "run_log.hpp"

namespace aqua::llama_example {

struct Asked {
  double arrival = 0;  // seconds
  std::vector<Token> prompt{};
  std::uint32_t output_tokens = 1;
};

// Where KV is that is not in the engine's cache.
struct SwapSpace {
  Parking& parking;
  Tier tier = Tier::host;             // where the parking puts it first
  std::uint32_t blocks = UINT32_MAX;  // as the scheduler counts them; prefixes have what is left
  CachedPrompts* prefixes = nullptr;  // none: every prompt is computed
  bool lose_hits = false;             // every other one is gone when it is to be fetched
};

struct PrefixUse {
  std::size_t hits_in_peer = 0, hits_in_host = 0;  // fetches
  std::size_t lost_hits = 0;  // evicted or lost between the arrival and the fetch: computed
  std::size_t hit_tokens = 0;
  std::size_t stored_blocks = 0;
  double fetch_seconds = 0, store_seconds = 0;
};

class OpenLoop {
 public:
  // `log` names policy, options and engine; the rest is filled in. All outlive this.
  OpenLoop(BatchEngine& engine, unsigned slots, const std::vector<Asked>& requests,
           const SwapSpace& swap, RunLog& log);
  // Until all have their tokens, by a clock that starts now. Throws Failure.
  void run(EngineClock::Kind clock);
  [[nodiscard]] const PrefixUse& prefix_use() const { return use_; }
  [[nodiscard]] schedule::SchedulerStatus status() const { return scheduler_->status(); }

 private:
  struct Sequence {
    std::vector<Token> tokens{};  // known: prompt and answer
    std::uint32_t generated = 0;
    std::optional<unsigned> slot{};
    std::uint32_t cached = 0;  // tokens that its first page-in is to fetch
  };

  [[nodiscard]] double now() const { return clock_->now(); }
  double tell_time();  // to the scheduler; returns it
  // What the scheduler is told of an answer's length: auto an upper limit, the longest of the load;
  // the others its own, as the simulator tells them.
  [[nodiscard]] std::uint32_t limit_of(const Asked& asked) const;
  void admit();
  [[nodiscard]] bool page(const schedule::Batch& batch);
  void page_out(const schedule::Preemption& order);
  void page_in(const schedule::PageIn& order);
  // Leaves to cached prefixes what preempted sequences do not hold of the swap space.
  void share_swap_space();
  void fetch_prefix(schedule::SequenceId id);
  void store_prefix(std::uint64_t id);
  void compute(const schedule::Batch& batch, double since);
  void note_sharing(double at);
  void take(std::uint64_t id, Token token, double at);
  [[nodiscard]] unsigned slot_of(Sequence& sequence);
  void leave(Sequence& sequence);

  BatchEngine& engine_;
  const std::vector<Asked>& requests_;
  const SwapSpace swap_;
  RunLog& log_;
  PrefixUse use_;
  std::size_t fetches_ = 0;
  std::uint32_t longest_answer_ = 0;  // of the load
  std::unique_ptr<schedule::Scheduler> scheduler_;
  example::CopyCosts costs_;
  std::vector<unsigned> free_slots_;
  std::map<std::uint64_t, Sequence> sequences_;  // by their place in requests_
  std::size_t arrived_ = 0;
  schedule::Sharing sharing_{};         // as last noted
  std::optional<EngineClock> clock_{};  // while it runs
};

}  // namespace aqua::llama_example
