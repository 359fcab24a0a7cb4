// SPDX-License-Identifier: Apache-2.0
// What a Replicator gathers when: tokens of a few steps together, with one copy a sequence.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/systems/kv_stream/act/replicas_fixture.hpp"

namespace aqua {
namespace {

using test::Ids;
using test::ids_of;
using test::ReplicaStage;
using test::value_of;

class ReplicatorSteps : public test::ReplicasFixture {
 protected:
  ReplicatorSteps() {
    auto options = stage_.options();
    options.pack_steps = 4;
    options.lag_tokens = 16;
    stage_.replicate(options);
  }
  [[nodiscard]] std::uint64_t copied_tokens() {
    return stage_.replicator().status().copied_bytes / ReplicaStage::kTokenBytes;
  }
  // Expects that all of this sequence is held, and that it has each byte once restored. Returns of
  // how many pieces it is.
  std::size_t restored(std::uint64_t sequence, const Ids& ids) {
    const auto tokens = static_cast<std::uint32_t>(ids.size());
    stage_.await(sequence, tokens);
    // Pieces are read whole, also what another answer had behind what is known.
    constexpr std::uint32_t kRoom = 256;
    stage_.take_blocks(sequence, kRoom);
    stage_.wipe(sequence);
    auto reader = stage_.reader();
    EXPECT_EQ(reader.watermark(sequence, ids, kRoom), tokens);
    const auto read = value_of(reader.restore(sequence, ids, tokens, stage_.layout(),
                                              stage_.blocks(sequence), stage_.stream()));
    EXPECT_EQ(stage_.wrong(sequence, ids), 0U);
    return read.pieces.size();
  }
  // Prefixes of `ids`, as generation makes them.
  Ticket generate(std::uint32_t tokens) {
    const Ids so_far(ids_.begin(), ids_.begin() + tokens);
    return value_of(stage_.generate(7, so_far, tokens == 6 ? 0 : tokens - 1));
  }

  ReplicaStage stage_{keeper_.socket()};
  const Ids ids_ = ids_of(1, 32);
};

TEST_F(ReplicatorSteps, GatherThePromptAtOnceAndTokensWithTheirPack) {
  EXPECT_EQ(generate(6).bytes(), 6 * ReplicaStage::kTokenBytes);
  for (const std::uint32_t tokens : {7U, 8U}) {
    EXPECT_EQ(generate(tokens).bytes(), 0U) << "nobody would have it before the pack is committed";
    EXPECT_EQ(copied_tokens(), 6U);
  }
  EXPECT_EQ(generate(9).bytes(), 3 * ReplicaStage::kTokenBytes);
  for (std::uint32_t tokens = 10; tokens <= 13; ++tokens) (void)generate(tokens);
  EXPECT_EQ(copied_tokens(), 13U);
  EXPECT_EQ(restored(7, Ids(ids_.begin(), ids_.begin() + 13)), 3U) << "the prompt, 3 and 4 tokens";
}

TEST_F(ReplicatorSteps, GatherEachTokenOfASamplerThatHasAState) {
  for (std::uint32_t tokens = 1; tokens <= 3; ++tokens) {
    (void)value_of(stage_.step(7, Ids(ids_.begin(), ids_.begin() + tokens), tokens - 1));
    EXPECT_EQ(copied_tokens(), tokens);
  }
}

TEST_F(ReplicatorSteps, GatherWhatWasWrittenLast) {
  (void)generate(6);
  (void)generate(7);
  Ids other(ids_.begin(), ids_.begin() + 6);
  other.insert(other.end(), {91, 92});
  (void)value_of(stage_.generate(7, other, 6));  // in the place of what was drafted
  EXPECT_EQ(copied_tokens(), 6U);
  EXPECT_EQ(restored(7, other), 2U);
}

TEST_F(ReplicatorSteps, CopyNothingOutOfBlocksThatWereGivenAway) {
  (void)generate(6);
  (void)generate(7);
  stage_.replicator().without_blocks(7);
  stage_.wipe(7);
  test::succeeds(stage_.replicator().flush(stage_.stream()));
  EXPECT_EQ(copied_tokens(), 6U);
  const Ids ids(ids_.begin(), ids_.begin() + 8);
  stage_.compute(7, ids, 0);  // it has blocks again, with all of it
  (void)value_of(stage_.generate(7, ids, 7));
  (void)restored(7, ids);
}

TEST_F(ReplicatorSteps, CopyNothingOfASequenceThatHasEnded) {
  (void)generate(6);
  (void)generate(7);
  stage_.replicator().finish(7);
  test::succeeds(stage_.replicator().flush(stage_.stream()));
  EXPECT_EQ(copied_tokens(), 6U);
}

TEST_F(ReplicatorSteps, OfATermThatHasEndedAreCopiedInTheNext) {
  (void)generate(6);
  (void)generate(7);
  stage_.replicator().seal();
  Ids other(ids_.begin(), ids_.begin() + 6);
  other.insert(other.end(), {91, 92});
  (void)value_of(stage_.generate(7, other, 6));
  EXPECT_EQ(copied_tokens(), 6U);
  stage_.replicator().resume(2);
  (void)restored(7, other);
}

TEST_F(ReplicatorSteps, MakeAPackBeforeItIsDueWhereItIsFull) {
  auto options = stage_.options();
  options.pack_steps = options.lag_tokens = 64;
  options.pack_bytes = std::size_t{16} << 10;  // room for a score of tokens
  stage_.replicate(options);
  std::uint32_t tokens = 6;
  for ((void)generate(tokens); copied_tokens() == 0 && tokens < ids_.size();)
    (void)generate(++tokens);
  EXPECT_GT(tokens, 8U);
  EXPECT_LT(tokens, ids_.size());
  (void)restored(7, Ids(ids_.begin(), ids_.begin() + tokens));
}

TEST_F(ReplicatorSteps, InAnyOrderLoseNoByte) {
  std::mt19937 random(1);  // the seed
  std::map<std::uint64_t, Ids> all;
  for (int step = 0; step < 600; ++step) {
    const std::uint64_t sequence = 1 + random() % 4;
    Ids& ids = all[sequence];
    const auto what = random() % 16;
    if (what == 0) test::succeeds(stage_.replicator().flush(stage_.stream()));
    if (what == 1 && !ids.empty()) {
      stage_.replicator().without_blocks(sequence);
      stage_.wipe(sequence);
      stage_.compute(sequence, ids, 0);
    }
    std::size_t kept = ids.size();
    if (what == 3 || kept > 200) kept = random() % (kept + 1);  // another answer from there on
    ids.resize(kept);
    for (auto more = 1 + (what == 4 ? random() % 30 : 0U); more > 0; --more)
      ids.push_back(static_cast<std::uint32_t>(random() % 1000));
    const auto first = static_cast<std::uint32_t>(kept);
    (void)value_of(what < 8 ? stage_.generate(sequence, ids, first)
                            : stage_.step(sequence, ids, first));
  }
  for (const auto& [sequence, ids] : all) (void)restored(sequence, ids);
}

}  // namespace
}  // namespace aqua
