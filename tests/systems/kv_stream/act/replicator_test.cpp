// SPDX-License-Identifier: Apache-2.0
#include "aqua/kv_stream/replicator.hpp"

#include <gtest/gtest.h>

#include "tests/systems/kv_stream/act/replicas_fixture.hpp"

namespace aqua {
namespace {

using kv_stream::Replicator;
using kv_stream::WrittenTokens;
using test::Ids;
using test::ids_of;
using test::ReplicaStage;
using test::value_of;

using Replicas = test::ReplicasFixture;

TEST_F(Replicas, ASuccessorReadsEachByteAndGoesOnFromThere) {
  const Ids ids = ids_of(1, 40), other = ids_of(2, 9);
  {
    ReplicaStage dead(keeper_.socket());
    dead.replicate();
    write(dead, 7, ids, 20, Pace::each_step_is_held);
    write(dead, 8, other, 3);
    EXPECT_TRUE(dead.replicator().status().unprotected.empty());
  }
  ReplicaStage stage(keeper_.socket(), 8);  // other blocks
  auto options = stage.options();
  options.term = 2;
  stage.replicate(options);
  auto reader = stage.reader();
  const Ids known(ids.begin(), ids.begin() + 31);
  ASSERT_EQ(reader.watermark(7, known, 48), 31U);
  EXPECT_EQ(reader.watermark(8, other, 48), 9U);
  EXPECT_EQ(reader.watermark(9, known, 48), 0U);
  EXPECT_EQ(reader.sampler(8, other)->state, std::vector<std::byte>{std::byte{9}});
  EXPECT_LE(reader.sampler(7, known)->tokens, 31U) << "one that is behind known ids";
  EXPECT_EQ(reader.sampler(7, ids)->tokens, 40U);
  stage.take_blocks(7, 48);
  const auto restored =
      value_of(reader.restore(7, known, 30, stage.layout(), stage.blocks(7), stage.stream()));
  const Ids thirty(ids.begin(), ids.begin() + 30);
  EXPECT_EQ(stage.wrong(7, thirty), 0U);
  test::succeeds(stage.replicator().adopt(
      {.sequence = 7, .blocks = stage.blocks(7), .ids = thirty, .pieces = restored.pieces}));
  test::succeeds(reader.finish(stage.stream()));
  EXPECT_EQ(stage.replicator().watermark(7), 30U) << "by what the dead one has left";
  EXPECT_EQ(stage.replicator().status().copied_bytes, 0U);

  // On from there, to other tokens; then it dies, too.
  Ids anew = thirty;
  anew.push_back(5);
  (void)value_of(stage.step(7, anew, 30));
  stage.await(7, 31);
  stage.wipe(7);
  auto next = stage.reader(3);
  ASSERT_EQ(next.watermark(7, anew, 48), 31U);
  (void)value_of(next.restore(7, anew, 31, stage.layout(), stage.blocks(7), stage.stream()));
  EXPECT_EQ(stage.wrong(7, anew), 0U);
}

TEST_F(Replicas, WhatIsAdoptedCountsByItsSegmentsAndIsMergedWhereItIsTooMuch) {
  const Ids ids = ids_of(1, 20);
  {
    ReplicaStage dead(keeper_.socket());
    dead.replicate();
    write(dead, 7, ids, 14, Pace::each_step_is_held);
    ASSERT_EQ(kept(), 7U) << "a small pack for the prompt, and for each step";
  }
  ReplicaStage stage(keeper_.socket());
  auto options = stage.options();
  options.term = 2;
  options.max_bytes = 4 * options.pack_bytes;
  stage.replicate(options);
  auto reader = stage.reader();
  stage.take_blocks(7, 24);
  const auto restored =
      value_of(reader.restore(7, ids, 20, stage.layout(), stage.blocks(7), stage.stream()));
  test::succeeds(stage.replicator().adopt(
      {.sequence = 7, .blocks = stage.blocks(7), .ids = ids, .pieces = restored.pieces}));
  test::succeeds(reader.finish(stage.stream()));
  EXPECT_EQ(stage.replicator().status().kept_bytes, 7 * options.pack_bytes);

  Ids more = ids;
  more.push_back(5);
  (void)value_of(stage.step(7, more, 20));
  stage.await(7, 21);
  EXPECT_LE(stage.replicator().status().kept_bytes, options.max_bytes);
  stage.wipe(7);
  auto next = stage.reader(3);
  (void)value_of(next.restore(7, more, 21, stage.layout(), stage.blocks(7), stage.stream()));
  EXPECT_EQ(stage.wrong(7, more), 0U);
}

TEST_F(Replicas, NothingIsLeftOnceAllHaveEnded) {
  ReplicaStage stage(keeper_.socket());
  stage.replicate();
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence)
    write(stage, sequence, ids_of(1, 30), 10);
  EXPECT_GT(kept(), 0U);
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) stage.replicator().finish(sequence);
  EXPECT_EQ(stage.replicator().status().packs_kept, 0U);
  stage.replicate();  // the former one has told the keeper when it is gone
  EXPECT_EQ(kept(), 0U);
}

TEST_F(Replicas, OneThatIsReplacedLeavesNothingForNobody) {
  ReplicaStage stage(keeper_.socket());
  stage.replicate();
  (void)value_of(stage.step(7, ids_of(1, 4), 0));
  test::succeeds(stage.replicator().flush(stage.stream()));
  stage.replicator().finish(7);  // it has not heard yet that the pack was committed
  stage.replicate();             // by assignment
  EXPECT_EQ(kept(), 0U);
}

TEST_F(Replicas, SmallPacksAreMergedAndNoByteIsLost) {
  const Ids ids = ids_of(3, 300);
  ReplicaStage stage(keeper_.socket());
  stage.replicate();
  write(stage, 7, ids, 4, Pace::each_step_is_held);
  const auto status = stage.replicator().status();
  EXPECT_GT(status.packs_committed, 290U) << "one for each step";
  EXPECT_LT(status.packs_kept, 40U);
  EXPECT_GT(status.rewritten_bytes, 0U);
  stage.wipe(7);
  auto reader = stage.reader();
  ASSERT_EQ(reader.watermark(7, ids, 400), 300U);
  (void)value_of(reader.restore(7, ids, 300, stage.layout(), stage.blocks(7), stage.stream()));
  EXPECT_EQ(stage.wrong(7, ids), 0U);
}

TEST_F(Replicas, PacksOfSequencesWithoutBlocksKeepNoOthersFromBeingMerged) {
  ReplicaStage stage(keeper_.socket());
  stage.replicate();
  for (std::uint64_t sequence = 1; sequence <= 8; ++sequence) {
    write(stage, sequence, ids_of(1, 1), 1);
    stage.replicator().without_blocks(sequence);
  }
  EXPECT_EQ(stage.replicator().status().packs_kept, 8U);
  write(stage, 9, ids_of(3, 300), 4, Pace::each_step_is_held);
  EXPECT_LT(stage.replicator().status().packs_kept, 48U);
  EXPECT_GT(stage.replicator().status().rewritten_bytes, 0U);
  for (std::uint64_t sequence = 1; sequence <= 8; ++sequence)
    EXPECT_EQ(stage.replicator().watermark(sequence), 1U);
}

TEST_F(Replicas, WhereTheKeeperMayTakeNoMoreASequenceIsUnprotectedAndSaysWhy) {
  ReplicaStage stage(keeper_.socket());
  auto options = stage.options();
  options.max_bytes = 4 * options.pack_bytes;
  stage.replicate(options);
  const Ids ids = ids_of(1, 4000);  // nearly a pack
  stage.compute(0, ids, 0);
  const auto give = [&](std::uint64_t sequence) {
    const WrittenTokens written{.sequence = sequence, .blocks = stage.blocks(0), .ids = ids};
    (void)value_of(stage.replicator().step({&written, 1}, stage.stream()));
  };
  const auto settle = [&](std::uint64_t packs) {
    while (stage.replicator().status().packs_committed < packs) {
      if (!stage.replicator().wait(std::chrono::seconds(30))) break;
      test::succeeds(stage.replicator().flush(stage.stream()));
    }
  };
  for (std::uint64_t sequence = 1; sequence <= 4; ++sequence) {
    give(sequence);
    settle(std::min<std::uint64_t>(sequence, 3));
  }
  auto status = stage.replicator().status();
  EXPECT_EQ(status.unprotected, std::vector<std::uint64_t>{4}) << "one pack is left to merge into";
  EXPECT_LE(status.kept_bytes, options.max_bytes);
  EXPECT_NE(status.error.find("at most"), std::string::npos) << status.error;
  stage.replicator().finish(1);
  test::succeeds(stage.replicator().flush(stage.stream()));
  settle(4);
  EXPECT_TRUE(stage.replicator().status().unprotected.empty()) << "there is room again";
}

TEST_F(Replicas, WithoutAKeeperGenerationGoesOnUnprotected) {
  ReplicaStage stage(keeper_.socket());
  stage.replicate();
  write(stage, 7, ids_of(1, 10), 5);
  keeper_.kill();
  while (stage.replicator().status().connected)
    ASSERT_TRUE(stage.replicator().wait(std::chrono::seconds(30)));
  EXPECT_TRUE(stage.step(7, ids_of(1, 11), 10).ok());
  const auto status = stage.replicator().status();
  EXPECT_EQ(status.unprotected, std::vector<std::uint64_t>{7});
  EXPECT_GT(status.steps_unprotected, 0U);
  EXPECT_EQ(status.most_lag, 11U);
  EXPECT_FALSE(status.error.empty());
  EXPECT_EQ(stage.wrong(7, ids_of(1, 11)), 0U);
  keeper_.start();
  stage.replicate();
  EXPECT_TRUE(stage.step(7, ids_of(1, 11), 0).ok()) << "with a new one it is replicated anew";
  stage.await(7, 11);
}

TEST_F(Replicas, AStoppedKeeperDelaysNoStep) {
  ReplicaStage stage(keeper_.socket());
  stage.replicate();
  keeper_.process().stop();
  Ids ids;
  for (std::uint32_t i = 0; i < 40; ++i) {
    ids.push_back(i);
    (void)value_of(stage.step(7, ids, i));
  }
  EXPECT_EQ(stage.wrong(7, ids), 0U) << "all steps have run";
  EXPECT_FALSE(stage.replicator().is_protected(7));
  EXPECT_EQ(stage.replicator().status().most_lag, 40U);
  keeper_.process().signal(SIGCONT);
  stage.await(7, 40);
  EXPECT_TRUE(stage.replicator().is_protected(7)) << "what was missing has been copied";
}

TEST_F(Replicas, WhatIsSealedCommitsNothingUntilItResumes) {
  ReplicaStage stage(keeper_.socket());
  stage.replicate();
  write(stage, 7, ids_of(1, 10), 5);
  const auto before = kept();
  stage.replicator().seal();
  (void)value_of(stage.step(7, ids_of(1, 30), 10));
  test::succeeds(stage.replicator().flush(stage.stream()));
  EXPECT_FALSE(stage.replicator().is_protected(7));
  EXPECT_EQ(kept(), before);
  stage.replicator().resume(5);
  stage.await(7, 30);
  const auto old = kv_stream::ReplicaReader::open(
      stage.runtime(),
      {.owner = ReplicaStage::owner(), .shape = "test", .term = 4, .keeper = keeper_.socket()});
  EXPECT_EQ(old.error().code, Code::aborted) << "term 5 has begun";
}

TEST_F(Replicas, OfASequenceWithoutBlocksNothingIsCopiedAndItsReplicaStays) {
  ReplicaStage stage(keeper_.socket());
  stage.replicate();
  write(stage, 7, ids_of(1, 10), 5);
  stage.replicator().seal();
  (void)value_of(stage.step(7, ids_of(1, 30), 10));
  stage.replicator().without_blocks(7);
  stage.replicator().resume(2);
  const auto copied = stage.replicator().status().copied_bytes;
  test::succeeds(stage.replicator().flush(stage.stream()));
  EXPECT_EQ(stage.replicator().status().copied_bytes, copied);
  EXPECT_EQ(stage.replicator().watermark(7), 10U);
  EXPECT_FALSE(stage.replicator().is_protected(7));
  (void)value_of(stage.step(7, ids_of(1, 31), 30));  // it has blocks again
  stage.await(7, 31);
}

TEST_F(Replicas, APackOfAnOlderTermThatComesLateIsNotReadAndIsDropped) {
  ReplicaStage stopped(keeper_.socket());
  stopped.replicate();
  write(stopped, 7, ids_of(1, 10), 5);
  ReplicaStage stage(keeper_.socket());
  auto reader = stage.reader();
  write(stopped, 7, ids_of(1, 20), 12);  // it has not heard of the term
  EXPECT_EQ(reader.watermark(7, ids_of(1, 20), 64), 10U);
  test::succeeds(reader.finish(stage.stream()));
  stage.replicate();
  { const auto let_go = std::move(reader); }
  EXPECT_EQ(kept(), 0U);
}

TEST_F(Replicas, OfAnotherShapeNothingIsRead) {
  ReplicaStage stage(keeper_.socket());
  auto options = stage.options();
  options.shape = "another model";
  stage.replicate(options);
  write(stage, 7, ids_of(1, 10), 5);
  const auto reader = stage.reader();
  EXPECT_EQ(reader.watermark(7, ids_of(1, 10), 64), 0U);
  EXPECT_GT(reader.status().refused, 0U);
  EXPECT_NE(reader.status().error.find("another model"), std::string::npos);
}

TEST_F(Replicas, IntoALayoutOfOtherTokensNothingIsRead) {
  ReplicaStage stage(keeper_.socket());
  stage.replicate();
  write(stage, 7, ids_of(1, 10), 5);
  LayoutSpec half = stage.layout().spec();
  half.layers /= 2;
  half.planes.resize(half.planes.size() / 2);
  auto reader = stage.reader();
  const auto restored = reader.restore(7, ids_of(1, 10), 10, value_of(Layout::make(half)),
                                       stage.blocks(7), stage.stream());
  ASSERT_FALSE(restored.ok());
  EXPECT_EQ(restored.error().code, Code::invalid_argument);
  EXPECT_EQ(stage.wrong(7, ids_of(1, 10)), 0U);
}

TEST_F(Replicas, BadInputIsRefusedAndChangesNothing) {
  ReplicaStage stage(keeper_.socket());
  const auto code = [](const auto& result) { return result.error().code; };
  for (const auto& change : std::vector<void (*)(kv_stream::ReplicatorOptions&)>{
           [](auto& options) { options.owner.group = "no.name"; },
           [](auto& options) { options.shape.assign(1025, 'x'); },
           [](auto& options) { options.pack_steps = 0; },
           [](auto& options) { options.pack_steps = 5; },
           [](auto& options) { options.max_bytes = 4 * options.pack_bytes - 1; },
           [](auto& options) { options.pack_bytes = 1000; }}) {
    auto options = stage.options();
    change(options);
    EXPECT_EQ(code(Replicator::create(stage.runtime(), stage.layout(), options)),
              Code::invalid_argument);
  }
  stage.replicate();
  write(stage, 7, ids_of(1, 6), 5);
  const Ids ids{1, 2, 3};
  const std::vector<std::byte> state(4097);
  const std::vector<std::uint32_t> twice{1, 1};
  const WrittenTokens good{.sequence = 7, .blocks = stage.blocks(7), .first = 5, .ids = ids};
  const auto refused = [&](auto change) {
    WrittenTokens written = good;
    change(written);
    return code(stage.replicator().step({&written, 1}, stage.stream())) == Code::invalid_argument;
  };
  EXPECT_TRUE(refused([](auto& written) { written.ids = {}; }));
  EXPECT_TRUE(refused([](auto& written) { written.first = 7; })) << "6 is missing";
  EXPECT_TRUE(refused([](auto& written) { written.first = 6; })) << "blocks for 8 tokens";
  EXPECT_TRUE(refused([&](auto& written) { written.blocks = twice; }));
  EXPECT_TRUE(refused([&](auto& written) { written.sampler = state; }));
  const std::vector<WrittenTokens> both{good, good};
  EXPECT_EQ(code(stage.replicator().step(both, stage.stream())), Code::invalid_argument);
  EXPECT_EQ(stage.replicator().watermark(7), 6U);
  EXPECT_EQ(code(stage.replicator().adopt(
                {.sequence = 7, .blocks = stage.blocks(7), .ids = ids, .pieces = {}})),
            Code::already_exists);
}

}  // namespace
}  // namespace aqua
