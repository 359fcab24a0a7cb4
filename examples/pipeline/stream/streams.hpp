// SPDX-License-Identifier: Apache-2.0
// Streams are what a process of a prefill pipeline sends, and one of a decode pipeline receives, by
// the library's Streamer: each rank of decode gets its layers and heads of each prompt from those
// ranks of prefill that have them.
//
// Threads: one. Errors: Failure. The cache outlives it.
#pragma once

#include <functional>
#include <map>
#include <utility>

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
  // The sequence has ended, whether it was taken or not: there is room for another one.
  void finish(const StepHead& step, Stream stream);
  // All others that have arrived will not be asked for.
  void keep(const std::vector<Word>& sequences, Stream stream);

 private:
  template <typename Happened>
  void await(const char* what, Happened happened);
  void hear();
  void await_arrival(const StepHead& step);

  SegmentCarrier carrier_;
  kv_stream::Streamer streamer_;
  std::function<bool()> told_{};
  std::map<Word, std::uint32_t> arrived_{};  // attempts, by sequence
};

}  // namespace aqua::pipeline
