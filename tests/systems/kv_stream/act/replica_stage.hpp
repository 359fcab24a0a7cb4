// SPDX-License-Identifier: Apache-2.0
// A stage for tests of replicas: a cache on a hostile emulated GPU, and a Replicator over it. Each
// byte of KV is a function of where it is, and of the ids of all tokens up to it.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/kv_stream/replica_reader.hpp"
#include "aqua/kv_stream/replicator.hpp"
#include "aqua/runtime.hpp"

namespace aqua::test {

using Ids = std::vector<std::uint32_t>;

template <typename T>
T value_of(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}
inline void succeeds(const Result<void>& result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
}

class ReplicaStage {
 public:
  static constexpr unsigned kLayers = 2, kPlanes = 2, kHeads = 2, kHeadBytes = 64;
  static constexpr std::size_t kTokenBytes = std::size_t{kLayers} * kPlanes * kHeads * kHeadBytes;
  static constexpr std::uint32_t kTokens = 4096;  // of the whole cache

  explicit ReplicaStage(std::string keeper, std::uint32_t tokens_per_block = 4)
      : keeper_(std::move(keeper)),
        each_(tokens_per_block),
        axes_(BlockAxes::tokens_first(each_, kHeads, kHeadBytes)),
        runtime_(value_of(
            Runtime::open({.device = "emu:0",
                           .coordinator = "none",
                           .host_bytes = std::size_t{2} << 20,
                           .emulated = {.total_bytes = std::size_t{32} << 20, .hostile = true}}))),
        memory_(value_of(emulated::allocate(runtime_, kTokens * kTokenBytes))),
        stream_(value_of(emulated::create_stream(runtime_))),
        layout_(lay_out()) {}
  ~ReplicaStage() {
    replicator_.reset();
    (void)emulated::destroy_stream(runtime_, stream_);
  }
  ReplicaStage(const ReplicaStage&) = delete;
  ReplicaStage& operator=(const ReplicaStage&) = delete;

  [[nodiscard]] Runtime& runtime() { return runtime_; }
  [[nodiscard]] Stream stream() const { return stream_; }
  // Destroys its stream, once that has done its work, and goes on with another one.
  void change_stream() {
    succeeds(emulated::destroy_stream(runtime_, stream_));
    stream_ = value_of(emulated::create_stream(runtime_));
  }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] kv_stream::Replicator& replicator() { return *replicator_; }

  [[nodiscard]] kv_stream::ReplicatorOptions options() const {
    return {.owner = owner(),
            .shape = "test",
            .lag_tokens = 4,
            .pack_steps = 2,
            .pack_bytes = std::size_t{2} << 20,
            .keeper = keeper_};
  }
  void replicate(const kv_stream::ReplicatorOptions& options) {
    replicator_ = value_of(kv_stream::Replicator::create(runtime_, layout_, options));
  }
  void replicate() { replicate(options()); }
  [[nodiscard]] static kv_stream::ReplicaOwner owner() { return {.group = "decode", .stage = 1}; }
  [[nodiscard]] kv_stream::ReplicaReader reader(std::uint64_t term = 2, std::string life = {}) {
    kv_stream::ReplicaReaderOptions read{.owner = owner(), .shape = "test", .term = term};
    read.owner.life = std::move(life);
    read.keeper = keeper_;
    return value_of(kv_stream::ReplicaReader::open(runtime_, read));
  }

  // Computes what of these ids is behind `first`, as a step does. Returns what it gives step().
  void compute(std::uint64_t sequence, const Ids& ids, std::uint32_t first) {
    take_blocks(sequence, ids.size());
    succeeds(emulated::launch(runtime_, stream_, [this, ids, first, blocks = blocks_[sequence]] {
      each_byte(ids, first, blocks, [](std::byte& at, std::byte is) { at = is; });
    }));
  }
  [[nodiscard]] Result<Ticket> step(std::uint64_t sequence, const Ids& ids, std::uint32_t first) {
    compute(sequence, ids, first);
    const std::vector<std::byte> sampler{std::byte(ids.size())};
    const kv_stream::WrittenTokens written{.sequence = sequence,
                                           .blocks = blocks_[sequence],
                                           .first = first,
                                           .ids = std::span(ids).subspan(first),
                                           .sampler = sampler};
    return replicator_->step({&written, 1}, stream_);
  }
  // The same, where the sampler has no state.
  [[nodiscard]] Result<Ticket> generate(std::uint64_t sequence, const Ids& ids,
                                        std::uint32_t first) {
    compute(sequence, ids, first);
    const kv_stream::WrittenTokens written{.sequence = sequence,
                                           .blocks = blocks_[sequence],
                                           .first = first,
                                           .ids = std::span(ids).subspan(first)};
    return replicator_->step({&written, 1}, stream_);
  }
  // Until the keeper has as much of it; what found no segment ready is copied once one is.
  void await(std::uint64_t sequence, std::uint32_t tokens) {
    succeeds(replicator_->flush(stream_));
    while (replicator_->watermark(sequence) < tokens) {
      if (!replicator_->wait(std::chrono::seconds(30)))
        throw std::runtime_error("the keeper says nothing: " + replicator_->status().error);
      succeeds(replicator_->flush(stream_));
    }
  }
  // Overwrites a sequence's blocks, behind what is queued.
  void wipe(std::uint64_t sequence) {
    succeeds(emulated::launch(runtime_, stream_, [this, blocks = blocks_[sequence]] {
      const Ids ids(blocks.size() * each_);
      each_byte(ids, 0, blocks, [](std::byte& at, std::byte) { at = std::byte{0xee}; });
    }));
  }
  // Waits; bytes that are not those of the ids.
  [[nodiscard]] std::size_t wrong(std::uint64_t sequence, const Ids& ids) {
    std::size_t count = 0;
    succeeds(emulated::launch(runtime_, stream_, [this, &ids, &count, sequence] {
      each_byte(ids, 0, blocks_[sequence],
                [&](const std::byte& at, std::byte is) { count += at == is ? 0U : 1U; });
    }));
    succeeds(emulated::synchronize(runtime_, stream_));
    return count;
  }
  // Takes more blocks as it grows.
  void take_blocks(std::uint64_t sequence, std::size_t tokens) {
    auto& blocks = blocks_[sequence];
    while (blocks.size() * each_ < tokens) blocks.push_back(next_block_++ * 7 % (kTokens / each_));
  }
  [[nodiscard]] const std::vector<std::uint32_t>& blocks(std::uint64_t sequence) {
    return blocks_[sequence];
  }

 private:
  [[nodiscard]] Layout lay_out() const {
    LayoutSpec spec{.layers = kLayers,
                    .planes_per_layer = kPlanes,
                    .block_count = kTokens / each_,
                    .block_stride = axes_.bytes(),
                    .axes = axes_};
    for (unsigned plane = 0; plane < kLayers * kPlanes; ++plane)
      spec.planes.push_back(memory_.data() + plane * spec.block_count * axes_.bytes());
    return value_of(Layout::make(std::move(spec)));
  }
  // On the device: visit(byte, what it is to be).
  template <typename Visit>
  void each_byte(const Ids& ids, std::uint32_t first, const std::vector<std::uint32_t>& blocks,
                 Visit visit) const {
    std::uint64_t all = 1;
    for (std::uint32_t token = 0; token < ids.size(); ++token) {
      all = (all * 31 + ids[token] + 1) * 0x9e3779b97f4a7c15ULL;
      if (token < first) continue;
      for (unsigned plane = 0; plane < kLayers * kPlanes; ++plane) {
        std::byte* const at = emulated::kernel_view(layout_.spec().planes[plane]) +
                              blocks[token / each_] * axes_.bytes() +
                              token % each_ * axes_.tokens.stride;
        for (std::size_t i = 0; i < std::size_t{kHeads} * kHeadBytes; ++i)
          visit(at[i], std::byte(((all >> 32) + plane * 57 + i * 7) & 0xff));
      }
    }
  }

  const std::string keeper_;
  const std::uint32_t each_;
  const BlockAxes axes_;
  Runtime runtime_;
  emulated::Memory memory_;
  Stream stream_;
  Layout layout_;
  std::map<std::uint64_t, std::vector<std::uint32_t>> blocks_{};
  std::uint32_t next_block_ = 0;
  std::optional<kv_stream::Replicator> replicator_{};
};

inline Ids ids_of(std::uint32_t seed, std::size_t tokens) {
  Ids ids;
  for (std::uint32_t i = 0; i < tokens; ++i) ids.push_back(seed * 1000 + i);
  return ids;
}

}  // namespace aqua::test
