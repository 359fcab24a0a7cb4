// SPDX-License-Identifier: Apache-2.0
#include "aqua/kv_stream/streamer.hpp"

#include <gtest/gtest.h>

#include "tests/systems/kv_stream/stream/pair.hpp"

namespace aqua::kv_stream {
namespace {

using test::Order;
using test::Pair;
using test::pipeline;
using test::PipelineSpec;
using test::sure;
using test::TwoToOne;

bool all_landed(const std::vector<StreamOut>& outs) {
  return std::ranges::all_of(outs, [](const StreamOut& out) { return sure(out.landed()); });
}

TEST(Streamer, TwoByTwoToThreeByOneEachByteIsWhereItBelongs) {
  Pair pair(pipeline({4, 3}, 2, 4), pipeline({3, 2, 2}, 1, 8, Order::heads_first));
  pair.admit(1);
  auto outs = pair.begin(7, 21);
  pair.send(outs, 21, 5);
  EXPECT_FALSE(all_landed(outs));
  EXPECT_EQ(pair.receive(7, 21, 5), 0U);
  EXPECT_TRUE(all_landed(outs));
  pair.finish(7);
  EXPECT_EQ(pair.hub.book.size(), 0U) << "nothing is left over";
  EXPECT_TRUE(all_landed(outs)) << "also once it has ended";
}

// Any number up to `most` that divides `whole` or that it divides.
std::uint32_t ranks_for(std::uint32_t heads, std::uint32_t most, std::mt19937& random) {
  for (;;) {
    const auto ranks = static_cast<std::uint32_t>(1 + random() % most);
    if (heads % ranks == 0 || ranks % heads == 0) return ranks;
  }
}

PipelineSpec random_pipeline(const KvShape& model, std::mt19937& random) {
  PipelineSpec spec;
  spec.shards.shape = model;
  spec.shards.shape.tokens_per_block = static_cast<std::uint32_t>(1 + random() % 9);
  std::uint32_t left = model.layers;
  while (left > 0) {
    const auto layers = static_cast<std::uint32_t>(1 + random() % left);
    spec.shards.parallelism.stage_layers.push_back(layers);
    left -= layers;
  }
  spec.shards.parallelism.tensor_ranks = ranks_for(model.kv_heads, 6, random);
  spec.order = static_cast<Order>(random() % 3);
  spec.blocks = 32;
  return spec;
}

TEST(Streamer, BetweenRandomShapesEachByteIsWhereItBelongs) {
  std::mt19937 random(11);
  for (unsigned round = 0; round < 60; ++round) {
    const KvShape model{.layers = static_cast<std::uint32_t>(1 + random() % 6),
                        .planes_per_layer = static_cast<std::uint32_t>(1 + random() % 2),
                        .kv_heads = static_cast<std::uint32_t>(1 + random() % 6),
                        .head_bytes = 8 * (1 + random() % 2)};
    const PipelineSpec from = random_pipeline(model, random), to = random_pipeline(model, random);
    const auto most =
        32 * std::min(from.shards.shape.tokens_per_block, to.shards.shape.tokens_per_block);
    const auto tokens = static_cast<std::uint32_t>(1 + random() % std::min(most, 40U));
    Pair pair(from, to, round + 1);
    pair.admit(1);
    auto outs = pair.begin(round, tokens);
    pair.send(outs, tokens, round);
    ASSERT_EQ(pair.receive(round, tokens, round), 0U) << "round " << round;
    ASSERT_TRUE(all_landed(outs)) << "round " << round;
  }
}

TEST_F(TwoToOne, WithoutRoomNothingIsStreamed) {
  auto outs = pair_.begin(1, 8);
  EXPECT_FALSE(sure(outs[0].ready()));
  EXPECT_EQ(outs[0].layer(0, first_.stream()).error().code, Code::failed_precondition);
  pair_.admit(1);
  EXPECT_TRUE(sure(outs[0].ready()));
  pair_.send(outs, 8, 1);
  EXPECT_EQ(pair_.receive(1, 8, 1), 0U);
}

TEST_F(TwoToOne, RoomIsThereBeforeBlocksAre) {
  pair_.admit(1);
  std::vector<StreamOut> outs;
  for (auto& rank : pair_.senders)
    outs.push_back(sure(rank->streamer.stream_out({.sequence = 1, .to = "decode", .tokens = 8})));
  EXPECT_TRUE(sure(outs[0].ready()));
  const auto code = [](const Result<void>& result) { return result.error().code; };
  EXPECT_EQ(code(outs[0].layer(0, first_.stream())), Code::failed_precondition) << "no blocks";
  const std::vector<std::uint32_t> few{1}, twice{1, 1}, blocks = first_.blocks_for(8);
  EXPECT_EQ(code(outs[0].set_blocks(few)), Code::invalid_argument);
  EXPECT_EQ(code(outs[0].set_blocks(twice)), Code::invalid_argument);
  EXPECT_EQ(code(outs[0].set_blocks({})), Code::invalid_argument);
  for (std::size_t i = 0; i < outs.size(); ++i)
    sure(outs[i].set_blocks(pair_.senders[i]->blocks_for(8)));
  EXPECT_EQ(code(outs[0].set_blocks(blocks)), Code::failed_precondition) << "it has blocks";
  pair_.send(outs, 8, 1);
  EXPECT_EQ(pair_.receive(1, 8, 1), 0U);
}

TEST_F(TwoToOne, AReceiverThatTakesNothingDelaysNoBlock) {
  pair_.admit(1);
  auto outs = pair_.begin(1, 8);
  pair_.send(outs, 8, 1);  // until the copies have left
  EXPECT_TRUE(sure(outs[0].copied()));
  EXPECT_TRUE(sure(outs[0].kept()));
  EXPECT_FALSE(sure(outs[0].landed()));
}

TEST_F(TwoToOne, ASequenceIsThereOnceAllOfItIs) {
  pair_.admit(1);
  auto outs = pair_.begin(1, 8);
  send_first_part(outs);
  EXPECT_TRUE(receiver_.streamer.arrived().empty());
  EXPECT_EQ(
      receiver_.streamer.stream_in(1, receiver_.blocks_for(8), receiver_.stream()).error().code,
      Code::not_found);
}

TEST_F(TwoToOne, WhatIsDroppedBeforeItsEndIsCancelled) {
  pair_.admit(1);
  {
    auto outs = pair_.begin(1, 8);
    sure(outs[0].layer(0, first_.stream()));
  }
  EXPECT_EQ(pair_.hub.book.size(), 0U);
}

TEST_F(TwoToOne, AnotherAttemptReplacesWhatCameOfTheFirst) {
  pair_.admit(1);  // which serves each attempt
  auto first = pair_.begin(1, 8);
  send_first_part(first);
  EXPECT_TRUE(receiver_.streamer.arrived().empty());  // has the first stage's part, and waits

  first[1].cancel();  // the second stage has died, say
  const auto blocks = first_.blocks_for(8);
  const auto again = sure(
      first_.streamer.stream_out({.sequence = 1, .to = "decode", .blocks = blocks, .tokens = 8}));
  EXPECT_EQ(again.ready().error().code, Code::aborted) << "an attempt is made once";
  auto second = pair_.begin(1, 8, 2);
  pair_.send(second, 8, 3);
  EXPECT_EQ(pair_.receive(1, 8, 3, 2), 0U);
  EXPECT_EQ(receiver_.streamer.status().refused, 0U);
  pair_.finish(1);
  EXPECT_EQ(pair_.hub.book.size(), 0U);
}

TEST_F(TwoToOne, WhatBegunIsToldOfWhenAnotherAttemptBegins) {
  pair_.admit(1);  // which serves each attempt
  auto first = pair_.begin(1, 8);
  pair_.send(first, 8, 1);
  EXPECT_EQ(pair_.receive(1, 8, 1), 0U);
  EXPECT_TRUE(receiver_.streamer.superseded().empty());
  auto second = pair_.begin(1, 8, 2);
  EXPECT_EQ(receiver_.streamer.superseded(), std::vector<std::uint64_t>{1});
  EXPECT_TRUE(receiver_.streamer.superseded().empty()) << "once";
  EXPECT_TRUE(all_landed(first)) << "it was, before";
}

TEST_F(TwoToOne, AnotherAttemptEndsTheOneThatIsUnderWay) {
  pair_.admit(1);
  auto first = pair_.begin(1, 8);
  auto second = pair_.begin(1, 8, 2);
  EXPECT_EQ(first[0].ready().error().code, Code::aborted);
  first[0].cancel();  // which is all that is left to do
  pair_.send(second, 8, 3);
  EXPECT_EQ(pair_.receive(1, 8, 3, 2), 0U);
}

}  // namespace
}  // namespace aqua::kv_stream
