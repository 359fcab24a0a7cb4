// SPDX-License-Identifier: Apache-2.0
// Attachment is a process's part in what one life of the keeper streams: the carrier, and the
// library's Streamer over it. When the keeper dies all that it had is gone, and the next life wants
// another attachment; what was being copied from or to its memory goes on in that of the old one.
//
// Threads: one. Errors: Failure. The cache outlives it.
#pragma once

#include <memory>

#include "aqua/handoff/segment_carrier.hpp"
#include "aqua/kv_stream/streamer.hpp"
#include "must.hpp"
#include "options.hpp"
#include "serve/kv_cache.hpp"

namespace aqua::pipeline {

// How the pipeline has the model's KV.
[[nodiscard]] KvShards shards_of(const ModelShape& model, const PipelineShape& pipeline,
                                 unsigned tokens_per_block);

class Attachment {
 public:
  // One of decode has room for so many prompts. nullptr: no keeper listens.
  [[nodiscard]] static std::shared_ptr<Attachment> attach(Runtime& runtime, const Options& options,
                                                          const KvCache& cache, unsigned room);
  Attachment(SegmentCarrier carrier, const Options& options, const KvCache& cache, unsigned room);
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  [[nodiscard]] kv_stream::Streamer& streamer() { return streamer_; }
  [[nodiscard]] bool is_connected() const { return carrier_.is_connected(); }
  // Whether that has failed since the keeper has died. Failure: for another reason.
  template <typename T>
  [[nodiscard]] bool lost(const Result<T>& result, const char* what) const {
    if (result.ok()) return false;
    if (is_connected()) throw example::failure(what, result.error());
    return true;
  }

 private:
  SegmentCarrier carrier_;
  kv_stream::Streamer streamer_;
};

}  // namespace aqua::pipeline
