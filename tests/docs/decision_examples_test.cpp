// SPDX-License-Identifier: Apache-2.0
// The examples at the top of the public headers of decisions, which need no device. Each test sets
// up the names that its example uses; the example includes nothing.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aqua/migration/source.hpp"
#include "aqua/migration/stream_filter.hpp"
#include "aqua/packing/packer.hpp"
#include "aqua/prefix/prefix_index.hpp"
#include "aqua/schedule/scheduler.hpp"
#include "aqua/shards.hpp"
#include "aqua/sharing/sm_shares.hpp"

namespace {

using namespace aqua;
using namespace aqua::literals;

TEST(DecisionExamples, Shards) {
  const std::size_t rank = 5;  // layers 22 to 31, heads 4 to 7
  std::uint64_t moved = 0;
  const auto move = [&](std::uint32_t source, const KvRange& from, const KvRange& to) {
    EXPECT_TRUE(source == 6 || source == 7) << source;
    EXPECT_EQ(from.layers, (IndexRange{6, 10}));
    EXPECT_EQ(to.layers, (IndexRange{0, 10}));
    moved += to.heads.count;
  };
#include "header_examples/shards.hpp"
  EXPECT_EQ(moved, 4U);
}

TEST(DecisionExamples, PrefixIndex) {
  const std::vector<prefix::Token> tokens(8, 7);
  const auto chain = prefix::hash_chain("tenant", tokens, 4);
  const prefix::Prefix prefix{chain, tokens.size()};
  auto index = prefix::PrefixIndex::create({.block_tokens = 4}).value();
#include "header_examples/prefix/prefix_index.hpp"
  EXPECT_TRUE(done.ok());
  ASSERT_TRUE(added.ok());
  EXPECT_EQ(added->blocks, 2U);
  EXPECT_EQ(index.match(prefix).blocks, 2U);
}

TEST(DecisionExamples, Scheduler) {
  using schedule::SequenceId;
  int iterations = 0;
  std::uint32_t computed = 0;
  const auto serving = [&] { return iterations++ < 8; };
  const auto came = [&] {
    std::vector<schedule::Request> requests;
    if (iterations == 1) requests.push_back({.id = SequenceId{1}, .prompt_tokens = 40});
    return requests;
  };
  const auto copy = [](const auto& orders) { EXPECT_TRUE(orders.empty()); };
  const auto compute = [&](const schedule::Batch& batch) { computed += batch.tokens(); };
  const auto ended = [&] {
    return iterations == 4 ? std::vector{SequenceId{1}} : std::vector<SequenceId>{};
  };
#include "header_examples/schedule/scheduler.hpp"
  EXPECT_EQ(computed, 40U + 3U) << "the prompt, and three tokens after the first";
  EXPECT_EQ(scheduler.status().resident, 0U);
}

TEST(DecisionExamples, SmShares) {
  int rounds = 0;
  const auto serving = [&] { return rounds++ < 3; };
  const auto measure = [] {
    return std::vector<sharing::EngineLoad>{
        {.phases = {{0.5, {}}}}, {.phases = {{0.1, {}}}}, {.phases = {{0.1, {}}}}};
  };
  std::vector<double> popular;
  const auto apply = [&](const sharing::SmShares& applied) {
    popular.push_back(applied.shares()[0].share);
  };
#include "header_examples/sharing/sm_shares.hpp"
  ASSERT_EQ(popular.size(), 1U) << "they have changed once";
  EXPECT_GT(popular.front(), 0.5);
}

TEST(DecisionExamples, Packer) {
  using packing::RequestId;
  const std::vector<packing::EngineSpec> engines{{.id = packing::EngineId{1}, .kv_tokens = 100},
                                                 {.id = packing::EngineId{2}, .kv_tokens = 100}};
  int epochs = 0;
  std::vector<packing::EngineId> sent, freed;
  const auto serving = [&] { return epochs++ < 3; };
  const auto came = [&] {
    std::vector<packing::RequestSpec> requests;
    if (epochs == 1)
      requests = {{.id = RequestId{1}, .tokens = 60}, {.id = RequestId{2}, .tokens = 60}};
    return requests;
  };
  const auto send = [&](const packing::RequestSpec&, const packing::Placement& placed) {
    sent.push_back(placed.engine);
  };
  const auto grown = [&] { return std::vector{std::pair(RequestId{2}, std::uint64_t{60})}; };
  const auto ended = [&] {
    return epochs == 2 ? std::vector{RequestId{1}} : std::vector<RequestId>{};
  };
  const auto carry_out = [&](const packing::Plan& plan) {
    for (const packing::EngineId id : plan.freed) freed.push_back(id);
  };
#include "header_examples/packing/packer.hpp"
  EXPECT_EQ(sent, (std::vector{packing::EngineId{1}, packing::EngineId{2}}));
  EXPECT_EQ(freed, std::vector{packing::EngineId{1}});
  EXPECT_EQ(packer.status().resident, 1U);
}

TEST(DecisionExamples, SourceMove) {
  using namespace migration;
  const Candidate candidate{.prompt_tokens = 2000, .computed_tokens = 2010, .generated_tokens = 11};
  const std::uint32_t computed = 2010;
  std::vector<SourceCommand> ordered;
  const auto carry_out = [&](const SourceOrder& order) { ordered.push_back(order.what); };
#include "header_examples/migration/source.hpp"
  EXPECT_EQ(ordered, std::vector{SourceCommand::copy});
}

TEST(DecisionExamples, StreamFilter) {
  using namespace migration;
#include "header_examples/migration/stream_filter.hpp"
  EXPECT_EQ(*passed, Passes::yes);
  EXPECT_EQ(turn, 2U);
  EXPECT_EQ(*dropped, Passes::late);
  EXPECT_EQ(stream.next(), 1U);
}

}  // namespace
