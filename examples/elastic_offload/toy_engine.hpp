// ToyEngine: a small serving engine with a paged KV cache that is too small for its load. It
// shares the cache fairly: while others wait, a sequence that has generated a slice of tokens
// is preempted, whole, into an AquaTensor, and its turn comes again.
//
// One iterate() is one decoding step: every resident sequence generates one token. Its
// compute is awaited, as an engine does that samples tokens; transfers run beside it on a
// stream of their own and are only looked at.
//
// Threads: one. The runtime outlives it; destroy it when idle() or not at all.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "swap_space.hpp"
#include "workload.hpp"

namespace aqua::example {

class ToyEngine {
 public:
  ToyEngine(Runtime& runtime, std::uint32_t tenant);
  ~ToyEngine();
  ToyEngine(const ToyEngine&) = delete;
  ToyEngine& operator=(const ToyEngine&) = delete;

  void submit(const WorkItem& item);
  void iterate();
  [[nodiscard]] bool idle() const { return waiting_.empty() && active_.empty(); }

  [[nodiscard]] LoadReport load() const;
  [[nodiscard]] ConsumerStats stats() const;

 private:
  using Phase = Sequence::Phase;

  void collect();   // what transfers and checks have completed
  void admit();     // waiting requests, while tensors could hold all that does not fit the cache
  void schedule();  // brings the next sequences in, and makes room for them
  void decode();    // one token for each resident sequence
  void finish(Sequence& sequence);
  void start(Sequence& sequence);
  [[nodiscard]] bool preempt(std::uint32_t min_run);
  [[nodiscard]] bool needs_block(const Sequence& sequence) const;
  [[nodiscard]] std::uint32_t leaving_blocks() const;
  [[nodiscard]] SequenceCopy copy_of(const Sequence& sequence) const;

  Runtime& runtime_;
  const std::uint32_t tenant_;
  KvCache cache_;
  SwapSpace swap_;
  Stream compute_;
  std::deque<std::unique_ptr<Sequence>> waiting_;  // not admitted
  std::vector<std::unique_ptr<Sequence>> active_;
  std::deque<Sequence*> turn_;          // of active_: those that want to come into the cache
  std::vector<Writing> writings_;       // of this iteration
  bool starved_ = false;                // somebody found no block for its next token
  std::uint32_t committed_blocks_ = 0;  // that active_ will need in the end
  ConsumerStats stats_;
};

}  // namespace aqua::example
