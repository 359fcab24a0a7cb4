// SPDX-License-Identifier: Apache-2.0
// StreamedCache is the paged KV of prefill or decode, and the library's Streamer between the two.
// Decode's blocks are twice as large as those of prefill. llama.cpp gives no addresses of its own
// cache: a sequence's state is copied into blocks before it is streamed, and out of them after.
//
// Threads: one. Errors: Failure. The engine outlives it, and has its first slot empty when it is
// made.
#pragma once

#include <functional>
#include <vector>

#include "aqua/handoff/segment_carrier.hpp"
#include "aqua/kv_stream/streamer.hpp"
#include "disaggregate/roles.hpp"
#include "prefix/paged_cache.hpp"

namespace aqua::llama_example {

class StreamedCache {
 public:
  // With room for so many sequences of options.most_tokens().
  StreamedCache(const Options& options, const Model& model, Engine& engine, unsigned sequences);

  [[nodiscard]] kv_stream::Streamer& streamer() { return streamer_; }
  [[nodiscard]] Stream stream() const { return cache_.stream(); }
  [[nodiscard]] unsigned layers() const { return cache_.layout().layers(); }
  // Those of one sequence, of as many as there is room for.
  [[nodiscard]] BlockList blocks(unsigned place) const;

  // The state of a slot into blocks, and a state of so many tokens out of them into an empty slot.
  void put(unsigned slot, BlockList blocks);
  void get(unsigned slot, BlockList blocks, std::uint32_t tokens);
  // Damages a byte of the blocks.
  void flip_a_byte(BlockList blocks);

  // Waits until it has happened, for as long as it takes: who waits for this process ends it.
  void await(const std::function<bool()>& happened);

 private:
  Engine& engine_;
  const std::vector<std::byte> sample_;  // a state of one token
  const StateView shape_;
  const PagedShape pages_;
  const std::size_t blocks_each_;
  Runtime runtime_;
  std::vector<std::uint32_t> numbers_;  // of all blocks, in no order
  PagedCache cache_;
  SegmentCarrier carrier_;
  kv_stream::Streamer streamer_;
};

}  // namespace aqua::llama_example
