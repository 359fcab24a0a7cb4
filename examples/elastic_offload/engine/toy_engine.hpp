// SPDX-License-Identifier: Apache-2.0
// ToyEngine: a small serving engine with a paged KV memory that is too small for its load. What to
// compute, who is preempted into an AquaTensor and who comes back is decided by a scheduler of
// aqua/schedule, asked once an iteration; the engine carries its batches out and says what came of
// it.
//
// One iterate() is one forward pass: chunks of prompts, and a token for each sequence that decodes.
// Its compute is awaited, as an engine does that samples tokens; transfers run beside it on a
// stream of their own and are only looked at.
//
// Threads: one. The runtime outlives it; destroy it when idle() or not at all.
// Errors:  throws Failure.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aqua/schedule/scheduler.hpp"
#include "copy_costs.hpp"
#include "kv_cache.hpp"
#include "layered_kv.hpp"
#include "sizes.hpp"
#include "swap_space.hpp"
#include "workload.hpp"

namespace aqua::example {

struct EngineOptions {
  std::uint32_t tenant = 0;
  std::string policy{schedule::kDefaultPolicy};  // of schedule::scheduler_names()
  // las and cfs schedule as fcfs while preempted KV is in host memory (Aqua, section 7). On an
  // emulated GPU both tiers are as fast.
  bool fallback = false;
  std::uint32_t cache_blocks = kCacheBytes / CacheShape::kBlockBytes;
  std::optional<LayeredOptions> layers{};  // in place of a flat cache of cache_blocks
  std::uint32_t swap_blocks = kTensorBudgetBytes / CacheShape::kBlockBytes;
  std::uint32_t slice_iterations = kSliceIterations;
  // Each iteration waits for the copies of those before: what is decided then does not depend on
  // how fast they are. Of a flat cache only.
  bool wait_for_copies = false;
  // For who wants to know: each preemption, when it is carried out.
  std::function<void(std::uint64_t id)> on_preemption{};
};

class ToyEngine {
 public:
  using Clock = std::chrono::steady_clock;

  ToyEngine(Runtime& runtime, EngineOptions options);
  ~ToyEngine();
  ToyEngine(const ToyEngine&) = delete;
  ToyEngine& operator=(const ToyEngine&) = delete;

  // `arrived` is when its user began to wait.
  void submit(const WorkItem& item, Clock::time_point arrived = Clock::now());
  void iterate();
  // Has its memory changed so many times in all, where that has layers in frames.
  void change_until(std::uint64_t changes) { memory_->change_until(changes); }
  // Whether what is preempted from here on may go to lent memory: at first, yes.
  void use_lent_memory(bool use) { swap_.use_lent_memory(use); }
  [[nodiscard]] bool idle() const { return sequences_.empty() && complete_.empty(); }

  [[nodiscard]] LoadReport load() const;
  [[nodiscard]] ConsumerStats stats() const;

 private:
  using Phase = Sequence::Phase;

  // A step that is not safe yet, so that its tokens do not count.
  struct Uncounted {
    std::uint64_t step = 0;
    std::uint64_t tokens = 0;                 // that it generated
    std::vector<Clock::time_point> waited{};  // arrivals whose first token it made
  };

  void collect();  // what transfers and checks have completed
  [[nodiscard]] bool copied(Sequence& sequence);
  void tell_tiers();  // where preempted bytes are, and where the next ones would go
  void follow_changes();
  void give_up(Sequence& sequence);
  void carry_out(const schedule::Batch& batch);
  void preempt(const schedule::Preemption& order);
  void compute(Sequence& sequence, std::uint32_t tokens);
  void generate(Sequence& sequence);
  void run_step();
  void count();
  [[nodiscard]] std::size_t bytes_waiting() const;
  [[nodiscard]] std::uint32_t used_blocks() const;
  [[nodiscard]] Sequence& find(schedule::SequenceId id);
  [[nodiscard]] SequenceCopy copy_of(const Sequence& sequence) const;

  Runtime& runtime_;
  const EngineOptions options_;
  const std::unique_ptr<KvMemory> memory_;
  std::uint32_t told_blocks_;  // the scheduler's
  std::unique_ptr<schedule::Scheduler> scheduler_;
  const Clock::time_point began_ = Clock::now();  // what the scheduler is told the time from
  SwapSpace swap_;
  CopyCosts costs_;
  Stream compute_;
  std::map<std::uint64_t, Sequence> sequences_;  // by id
  std::vector<schedule::SequenceId> refused_;    // copies that could not begin
  std::vector<Writing> writings_;                // of this iteration
  Uncounted current_;                            // likewise
  std::deque<Uncounted> uncounted_;              // launched before, oldest first
  std::deque<std::uint64_t> complete_;           // requests, by their last step, not yet counted
  std::uint64_t counted_step_ = 0;
  std::set<std::uint64_t> leaving_;  // whose blocks a change of memory wants
  Tier swap_tier_ = Tier::host;      // as the scheduler was last told
  ConsumerStats stats_;
};

}  // namespace aqua::example
