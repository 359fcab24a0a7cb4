// SPDX-License-Identifier: Apache-2.0
// Pair is a pipeline that sends and one that receives, in one process.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "tests/systems/kv_stream/stream/pipelines.hpp"

namespace aqua::test {

using namespace aqua::literals;
using kv_stream::Arrived;
using kv_stream::StreamIn;
using kv_stream::StreamOut;

inline Runtime open_runtime(unsigned seed) {
  return sure(Runtime::open({.device = "emu:0",
                             .coordinator = "none",
                             .host_bytes = 64_MiB,
                             .curve_directory = "off",
                             .emulated = {.total_bytes = 2_GiB, .hostile = true, .seed = seed}}));
}

inline PipelineSpec pipeline(std::vector<std::uint32_t> stages, std::uint32_t ranks,
                             std::uint32_t tokens_per_block, Order order = Order::tokens_first) {
  KvShape shape{.layers = 0, .kv_heads = 4, .head_bytes = 16, .tokens_per_block = tokens_per_block};
  for (const std::uint32_t layers : stages) shape.layers += layers;
  return {.shards = {shape, {.stage_layers = std::move(stages), .tensor_ranks = ranks}},
          .order = order};
}

// A pipeline that sends and one that receives, of one process.
class Pair {
 public:
  Pair(const PipelineSpec& from, const PipelineSpec& to, unsigned seed = 1)
      : random_(seed),
        runtime(open_runtime(seed)),
        senders(make_ranks(runtime, hub, "prefill", from, {{"decode", to.shards}}, random_)),
        receivers(make_ranks(runtime, hub, "decode", to, {{"prefill", from.shards}}, random_)) {}

  void admit(std::uint32_t sequences) {
    for (auto& rank : receivers) sure(rank->streamer.admit("prefill", sequences));
  }
  // Reserves room with all receivers, for all senders.
  std::vector<StreamOut> begin(std::uint64_t sequence, std::uint32_t tokens,
                               std::uint32_t attempt = 1) {
    std::vector<StreamOut> outs;
    for (auto& rank : senders) {
      const auto blocks = rank->blocks_for(tokens);
      outs.push_back(sure(rank->streamer.stream_out({.sequence = sequence,
                                                     .attempt = attempt,
                                                     .to = "decode",
                                                     .blocks = blocks,
                                                     .tokens = tokens})));
    }
    return outs;
  }
  // Computes and streams. What was copied is overwritten at once.
  void send(std::vector<StreamOut>& outs, std::uint32_t tokens, unsigned salt) {
    for (std::size_t i = 0; i < outs.size(); ++i) {
      Rank& rank = *senders[i];
      for (unsigned layer = 0; layer < rank.layers(); ++layer) {
        rank.write(layer, tokens, salt);
        sure(outs[i].layer(layer, rank.stream()));
      }
      sure(outs[i].finish("pending", rank.stream()));
    }
    for (std::size_t i = 0; i < outs.size(); ++i) {
      while (!sure(outs[i].copied())) sure(emulated::synchronize(runtime, senders[i]->stream()));
      senders[i]->wipe();
    }
  }
  // Takes it in everywhere, and compares every byte. Returns how many are wrong.
  std::size_t receive(std::uint64_t sequence, std::uint32_t tokens, unsigned salt,
                      std::uint32_t attempt = 1) {
    std::size_t wrong = 0;
    for (auto& rank : receivers) {
      const std::vector<Arrived> wanted{{sequence, attempt, tokens, "pending"}};
      EXPECT_EQ(rank->streamer.arrived(), wanted);
      StreamIn in =
          sure(rank->streamer.stream_in(sequence, rank->blocks_for(tokens), rank->stream()));
      for (unsigned layer = 0; layer < rank->layers(); ++layer)
        sure(in.stream_wait(rank->stream(), layer));
      wrong += rank->wrong(tokens, salt);
      sure(in.wait());
      EXPECT_TRUE(sure(in.done()));
    }
    return wrong;
  }
  void finish(std::uint64_t sequence) {
    for (auto& rank : receivers) {
      EXPECT_TRUE(sure(rank->streamer.finish(sequence, rank->stream())));
    }
  }

 private:
  std::mt19937 random_;

 public:
  Runtime runtime;
  MemoryHub hub{};
  Ranks senders, receivers;
};

// Two stages that send, and one that receives all of it.
class TwoToOne : public ::testing::Test {
 protected:
  // What the first stage has of 8 tokens. The second one may be killed then.
  void send_first_part(std::vector<StreamOut>& outs) {
    first_.write(0, 8, 1);
    sure(outs[0].layer(0, first_.stream()));
    sure(outs[0].finish("pending", first_.stream()));
    while (!sure(outs[0].copied())) sure(emulated::synchronize(pair_.runtime, first_.stream()));
  }
  Pair pair_{pipeline({1, 1}, 1, 4), pipeline({2}, 1, 4)};
  Rank& first_ = *pair_.senders[0];
  Rank& receiver_ = *pair_.receivers[0];
};

}  // namespace aqua::test
