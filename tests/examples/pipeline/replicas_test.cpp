// SPDX-License-Identifier: Apache-2.0
// What a process tells of its copies, over a real keeper.
#include "stream/replicas.hpp"

#include <gtest/gtest.h>

#include "aqua/emulated.hpp"
#include "aqua/handoff/segments.hpp"
#include "aqua/runtime.hpp"
#include "tests/base/eventually.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua::pipeline {
namespace {

constexpr std::uint32_t kPrompt = 10;   // tokens
constexpr Word kMeasuredPromptsOf = 8;  // the first, the ninth, ...

class MeasuredReplicas : public ::testing::Test {
 protected:
  MeasuredReplicas() {
    options_.directory = std::filesystem::path(keeper_.socket()).parent_path();
    options_.place = {.pipeline = kColocated, .shape = {1, 1}};
    options_.life = "one";
  }
  ~MeasuredReplicas() override { (void)emulated::destroy_stream(runtime_, stream_); }

  void copy_prompt(Replicas& replicas, Word sequence) {
    Step step{.head = {.sequence = sequence, .count = kPrompt}, .hidden = {}, .ids = {}};
    step.ids.assign(kPrompt, 17);
    replicas.step(step, blocks_, stream_);
  }
  [[nodiscard]] std::size_t token_bytes() const {
    return cache_.layout().block_bytes() / cache_.layout().spec().axes.tokens.count;
  }

  test::KeeperProcess keeper_;
  Options options_{};
  Runtime runtime_ = Runtime::open({.device = "emu:0",
                                    .coordinator = "none",
                                    .host_bytes = std::size_t{2} << 20,
                                    .curve_directory = "off"})
                         .value();
  KvCache cache_{runtime_, options_.model_shape(), part_of(options_.model_shape(), {1, 1}, 0, 0),
                 CacheOptions{}};
  const std::vector<std::uint32_t> blocks_{0};  // of every sequence: no byte is looked at
  Stream stream_ = emulated::create_stream(runtime_).value();
};

// What could not be copied is copied with a later prompt.
TEST_F(MeasuredReplicas, CountTheBytesThatWereCopiedAndNothingOfAPromptThatWasNot) {
  Replicas replicas(runtime_, options_, cache_);
  replicas.seal();
  for (Word sequence = 0; sequence < kMeasuredPromptsOf; ++sequence)
    copy_prompt(replicas, sequence);
  const MeasuredCopies none = replicas.take_measured();
  EXPECT_EQ(none.bytes, 0U);
  EXPECT_EQ(none.seconds, 0);
  replicas.resume(2);
  copy_prompt(replicas, kMeasuredPromptsOf);
  const MeasuredCopies all = replicas.take_measured();
  EXPECT_EQ(all.bytes, (kMeasuredPromptsOf + 1) * kPrompt * token_bytes());
  EXPECT_GT(all.seconds, 0);
}

using ReplicasOverKeepers = MeasuredReplicas;

// The prompt was computed under the keeper that died, and its sequence goes on by a token a step.
TEST_F(ReplicasOverKeepers, AreMadeAnewOfASequenceThatRunsOnceThereIsAnotherKeeper) {
  constexpr std::uint32_t kMost = 240;  // tokens
  const std::vector<std::uint32_t> blocks{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  Replicas replicas(runtime_, options_, cache_);
  copy_prompt(replicas, 7);
  keeper_.kill();
  keeper_.start();
  KnownSequence known{.sequence = 7, .ids = std::vector<std::uint32_t>(kPrompt, 17)};
  const bool replicated = test::eventually([&] {
    const auto next = static_cast<std::uint32_t>(known.ids.size());
    if (next < kMost) {
      replicas.step({.head = {.sequence = 7, .first = next, .count = 1}, .hidden = {}, .ids = {18}},
                    blocks, stream_);
      known.ids.push_back(18);
    }
    return !list_segments(keeper_.socket()).value().empty();
  });
  ASSERT_TRUE(replicated);
  Replicas successor(runtime_, options_, cache_);
  EXPECT_GT(successor.survey({.term = 2, .sequences = {known}}, kMost).at(0), kPrompt);
}

}  // namespace
}  // namespace aqua::pipeline
