// SPDX-License-Identifier: Apache-2.0
// SentPrompt is a prompt on its way from a process of prefill to decode. Where the keeper dies
// meanwhile it is streamed again to the next one, as the same attempt: its blocks have it until
// complete() has returned. Dropping it before that cancels it.
//
// Threads: one. Errors: Failure, NeighbourGone. The Streams outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "stream/streams.hpp"

namespace aqua::pipeline {

class SentPrompt {
 public:
  // Waits until all receivers have room for the prompt, which is to lie in these blocks.
  SentPrompt(Streams& streams, const StepHead& step, BlockList blocks);

  // The layer, counted in this process, is written by the work posted to `stream` so far. Each in
  // its turn, from the first one on.
  void layer(unsigned layer, Stream stream);
  // All layers were given. Waits until the copies have left the cache, and outlive this process.
  void complete(Stream stream);

 private:
  void open();
  void stream_again(Stream stream);
  // False: the keeper has died.
  [[nodiscard]] bool give_layers(unsigned first, Stream stream);
  [[nodiscard]] bool finish(Stream stream);

  Streams& streams_;
  const StepHead step_;
  const std::vector<std::uint32_t> blocks_;
  unsigned given_ = 0;  // layers
  std::shared_ptr<Attachment> to_{};
  std::optional<kv_stream::StreamOut> out_{};  // by that
};

}  // namespace aqua::pipeline
