// SPDX-License-Identifier: Apache-2.0
// Streams are what a process of a prefill pipeline sends, and one of a decode pipeline receives, by
// the library's Streamer: each rank of decode gets its layers and heads of each prompt from those
// ranks of prefill that have them.
//
// Threads: one. Errors: Failure. The cache outlives it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "aqua/handoff/segment_carrier.hpp"
#include "aqua/kv_stream/streamer.hpp"
#include "options.hpp"
#include "serve/kv_cache.hpp"
#include "serve/step.hpp"

namespace aqua::pipeline {

// How the pipeline has the model's KV.
[[nodiscard]] KvShards shards_of(const ModelShape& model, const PipelineShape& pipeline,
                                 unsigned tokens_per_block);

class Streams {
 public:
  Streams(Runtime& runtime, const Options& options, const KvCache& cache);

  // What waits ends with NeighbourGone once this is so.
  void give_up_if(std::function<bool()> told) { told_ = std::move(told); }

  // --- of prefill -------------------------------------------------------------------------
  // Waits until all receivers have room for the prompt.
  [[nodiscard]] kv_stream::StreamOut begin(const StepHead& step, BlockList blocks);
  // All layers were given. Waits until the copies have left the cache, and outlive this process.
  void complete(kv_stream::StreamOut out, Stream stream);

  // --- of decode --------------------------------------------------------------------------
  // Waits until the sequence has arrived, and lets it come into these blocks.
  [[nodiscard]] kv_stream::StreamIn take(const StepHead& step, BlockList blocks, Stream stream);
  // The sequence has ended, whether it was taken or not: there is room for another one. Its latest
  // attempt may come later, or never, where prefill was killed again: nothing waits for it.
  void finish(const StepHead& step, Stream stream);
  // All others below `begun` have ended: what has arrived of them, or comes later, is let go.
  void keep(const std::vector<Word>& sequences, Word begun, Stream stream);
  // Waits until comes(time), which waits so long, is true. What comes meanwhile of sequences that
  // have ended is let go: it has room that prefill may wait for.
  template <typename Comes>
  void idle(Comes comes);

 private:
  static constexpr std::chrono::milliseconds kOneWait{20};  // then it looks for the other thing

  template <typename Happened>
  void await(const char* what, Happened happened);
  void hear();
  [[nodiscard]] bool wanted(Word sequence) const;
  void let_go(Word sequence, Stream stream);

  SegmentCarrier carrier_;
  kv_stream::Streamer streamer_;
  std::function<bool()> told_{};
  std::map<Word, std::uint32_t> arrived_{};  // attempts, by sequence
  // What keep() was told last, and sequences that have ended since, of which more may come.
  std::set<Word> kept_{}, ended_{};
  Word begun_ = 0;
};

template <typename Comes>
void Streams::idle(Comes comes) {
  while ((begun_ > 0 || !ended_.empty()) && !comes(kOneWait)) hear();
}

}  // namespace aqua::pipeline
