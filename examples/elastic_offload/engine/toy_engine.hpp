// SPDX-License-Identifier: Apache-2.0
// ToyEngine: a small serving engine with a paged KV cache that is too small for its load. What to
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
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aqua/schedule/scheduler.hpp"
#include "copy_costs.hpp"
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
  std::uint32_t swap_blocks = kTensorBudgetBytes / CacheShape::kBlockBytes;
  std::uint32_t slice_iterations = kSliceIterations;
  // Each iteration waits for the copies of those before: what is decided then does not depend on
  // how fast they are.
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
  // Whether what is preempted from here on may go to lent memory: at first, yes.
  void use_lent_memory(bool use) { swap_.use_lent_memory(use); }
  [[nodiscard]] bool idle() const { return sequences_.empty(); }

  [[nodiscard]] LoadReport load() const;
  [[nodiscard]] ConsumerStats stats() const;

 private:
  using Phase = Sequence::Phase;

  void collect();  // what transfers and checks have completed
  [[nodiscard]] bool copied(Sequence& sequence);
  void tell_tiers();  // where preempted bytes are, and where the next ones would go
  void carry_out(const schedule::Batch& batch);
  void preempt(const schedule::Preemption& order);
  void compute(Sequence& sequence, std::uint32_t tokens);
  void generate(Sequence& sequence);
  void note_first_tokens();
  [[nodiscard]] Sequence& find(schedule::SequenceId id);
  [[nodiscard]] SequenceCopy copy_of(const Sequence& sequence) const;

  Runtime& runtime_;
  const EngineOptions options_;
  std::unique_ptr<schedule::Scheduler> scheduler_;
  const Clock::time_point began_ = Clock::now();  // what the scheduler is told the time from
  KvCache cache_;
  SwapSpace swap_;
  CopyCosts costs_;
  Stream compute_;
  std::map<std::uint64_t, Sequence> sequences_;  // by id
  std::vector<schedule::SequenceId> refused_;    // copies that could not begin
  std::vector<Writing> writings_;                // of this iteration
  std::vector<Clock::time_point> waited_;        // arrivals whose first token it makes
  Tier swap_tier_ = Tier::host;                  // as the scheduler was last told
  ConsumerStats stats_;
};

}  // namespace aqua::example
