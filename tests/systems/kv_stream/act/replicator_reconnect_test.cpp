// SPDX-License-Identifier: Apache-2.0
// A Replicator whose keeper is killed and begins anew, with a disk and without.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <stop_token>
#include <thread>

#include "keeper_client/segment_client.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/systems/kv_stream/act/replicas_fixture.hpp"

namespace aqua {
namespace {

using test::Ids;
using test::ids_of;
using test::ReplicaStage;
using test::value_of;

class ReplicatorReconnects : public test::ReplicasFixture {
 protected:
  void start_with_disk() {
    keeper_.start({AQUA_KEEPER_PROGRAM, "--socket", keeper_.socket(), "--disk", dir_ / "disk",
                   "--disk-quota", "268435456"});
  }
  // Returns once the replicator knows.
  void kill_keeper(ReplicaStage& stage) {
    keeper_.kill();
    while (stage.replicator().status().connected)
      ASSERT_TRUE(stage.replicator().wait(std::chrono::seconds(30)));
  }
  void await_disk() {
    ASSERT_TRUE(test::eventually([this] {
      const SegmentDisk now = segment_disk(keeper_.socket()).value();
      return now.pending.segments == 0 && now.durable.segments == kept();
    }));
  }
  // What the keeper has once the replicator has told it all.
  std::size_t kept_in_the_end(ReplicaStage& stage) {
    stage.replicate();
    return kept();
  }
  // Every byte, in the term after the stage's.
  static void expect_read(ReplicaStage& stage, std::uint64_t sequence, const Ids& ids) {
    const auto tokens = static_cast<std::uint32_t>(ids.size());
    auto reader = stage.reader();
    ASSERT_EQ(reader.watermark(sequence, ids, tokens + 8), tokens);
    stage.take_blocks(sequence, ids.size() + 8);
    stage.wipe(sequence);
    (void)value_of(reader.restore(sequence, ids, tokens, stage.layout(), stage.blocks(sequence),
                                  stage.stream()));
    EXPECT_EQ(stage.wrong(sequence, ids), 0U);
  }

  testing::TempDir dir_;
};

TEST_F(ReplicatorReconnects, WhatIsOnTheDiskIsNotCopiedAgainAndNothingIsLeft) {
  keeper_.kill();
  start_with_disk();
  const Ids ids = ids_of(1, 40), ended = ids_of(2, 40);
  ReplicaStage stage(keeper_.socket());
  stage.replicate();
  write(stage, 7, Ids(ids.begin(), ids.begin() + 30), 20, Pace::each_step_is_held);
  write(stage, 8, ended, 20, Pace::each_step_is_held);
  await_disk();
  (void)value_of(stage.step(7, Ids(ids.begin(), ids.begin() + 31), 30));  // in a pack not yet due
  kill_keeper(stage);
  stage.replicator().finish(8);  // which no keeper hears now
  EXPECT_EQ(stage.replicator().watermark(7), 0U);
  EXPECT_EQ(stage.replicator().reconnect().error().code, Code::unavailable);
  start_with_disk();
  const std::size_t on_disk = kept();
  const std::uint64_t copied = stage.replicator().status().copied_bytes;
  test::succeeds(stage.replicator().reconnect());
  EXPECT_TRUE(stage.replicator().status().connected);
  EXPECT_EQ(stage.replicator().watermark(7), 30U);
  EXPECT_TRUE(stage.replicator().is_protected(7));
  test::succeeds(stage.replicator().flush(stage.stream()));
  EXPECT_EQ(stage.replicator().status().copied_bytes, copied + ReplicaStage::kTokenBytes);
  EXPECT_TRUE(test::eventually([&] { return kept() < on_disk; })) << "those of the ended one";
  test::succeeds(stage.replicator().reconnect());  // which does nothing
  for (std::uint32_t i = 32; i <= 40; ++i)
    (void)value_of(stage.step(7, Ids(ids.begin(), ids.begin() + i), i - 1));
  stage.await(7, 40);
  expect_read(stage, 7, ids);
  stage.replicator().finish(7);
  EXPECT_EQ(kept_in_the_end(stage), 0U);
}

// The keeper does not know any more that a successor has adopted it.
TEST_F(ReplicatorReconnects, AnAdoptedCopyOfAnotherServersSegmentIsDroppedAndAllIsCopied) {
  keeper_.kill();
  start_with_disk();
  const Ids ids = ids_of(1, 20);
  ReplicaStage stage(keeper_.socket());
  stage.replicate();
  stage.compute(7, ids, 0);
  const auto copy = [&] {
    auto courier = value_of(SegmentClient::connect(keeper_.socket()));
    const auto joined = value_of(courier.call(segment_wire::Join{}));
    const auto taken = value_of(courier.call(segment_wire::Reserve{1 << 20}));
    const auto kept = value_of(
        courier.call(segment_wire::Commit{.number = taken.reply.name.number,
                                          .bytes = 1 << 20,
                                          .copy_of = SegmentOrigin{"a.example", 7, 8, 9}}));
    return kv_stream::ReplicaPiece{
        .segment = kept.reply.name, .end = 20, .keeper = joined.reply.name.number};
  }();
  test::succeeds(stage.replicator().adopt(
      {.sequence = 7, .blocks = stage.blocks(7), .ids = ids, .pieces = {copy}}));
  EXPECT_EQ(stage.replicator().watermark(7), 20U);
  await_disk();
  kill_keeper(stage);
  start_with_disk();
  EXPECT_EQ(kept(), 1U);
  test::succeeds(stage.replicator().reconnect());
  EXPECT_EQ(kept(), 0U);
  EXPECT_EQ(stage.replicator().watermark(7), 0U);
  stage.await(7, 20);
  expect_read(stage, 7, ids);
}

TEST_F(ReplicatorReconnects, WithoutADiskAllIsCopiedAgainSoManyBytesAStep) {
  const Ids ids = ids_of(1, 300);
  ReplicaStage stage(keeper_.socket());
  auto options = stage.options();
  options.background_bytes = 50 * ReplicaStage::kTokenBytes;
  stage.replicate(options);
  write(stage, 7, Ids(ids.begin(), ids.begin() + 290), 280);
  write(stage, 8, ids_of(2, 9), 5);
  kill_keeper(stage);
  for (std::uint32_t i = 291; i <= 299; ++i)
    (void)value_of(stage.step(7, Ids(ids.begin(), ids.begin() + i), i - 1));
  stage.replicator().without_blocks(8);
  EXPECT_EQ(stage.replicator().status().unprotected, (std::vector<std::uint64_t>{7, 8}));
  keeper_.start();
  test::succeeds(stage.replicator().reconnect());
  EXPECT_EQ(stage.replicator().watermark(7), 0U);
  const std::uint64_t copied = stage.replicator().status().copied_bytes;
  (void)value_of(stage.step(7, ids, 299));
  EXPECT_LE(stage.replicator().status().copied_bytes - copied, 51 * ReplicaStage::kTokenBytes);
  stage.await(7, 300);
  EXPECT_EQ(stage.replicator().status().unprotected, std::vector<std::uint64_t>{8})
      << "which has no blocks to be copied from";
  expect_read(stage, 7, ids);
  stage.replicator().finish(7);
  stage.replicator().finish(8);
  EXPECT_EQ(kept_in_the_end(stage), 0U);
}

TEST_F(ReplicatorReconnects, WhenTheKeeperIsKilledAtRandomNoByteIsWrongAndNothingIsLeft) {
  keeper_.kill();
  start_with_disk();
  const Ids ids = ids_of(1, 400);
  ReplicaStage stage(keeper_.socket());
  stage.replicate();
  std::mt19937 random(1);
  const auto below = [&random](std::uint32_t most) {
    return static_cast<std::uint32_t>(random() % most);
  };
  std::uint32_t tokens = 0;
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t until = tokens + 5 + below(30);
    const std::uint32_t killed_at = tokens + below(until - tokens);
    while (tokens < until) {
      if (tokens == killed_at) keeper_.process().signal(SIGKILL);  // beside the steps that follow
      ++tokens;
      (void)value_of(stage.step(7, Ids(ids.begin(), ids.begin() + tokens), tokens - 1));
      (void)value_of(stage.step(100 + tokens, ids_of(tokens, 3), 0));  // lives for a step
      stage.replicator().finish(100 + tokens);
    }
    kill_keeper(stage);
    start_with_disk();
    test::succeeds(stage.replicator().reconnect());
  }
  stage.await(7, tokens);
  expect_read(stage, 7, Ids(ids.begin(), ids.begin() + tokens));
  stage.replicator().finish(7);
  test::succeeds(stage.replicator().flush(stage.stream()));
  EXPECT_EQ(kept_in_the_end(stage), 0U);
}

TEST_F(ReplicatorReconnects, BesideAThreadThatWaits) {
  const Ids ids = ids_of(1, 20);
  ReplicaStage stage(keeper_.socket());
  stage.replicate();
  std::jthread waits([&stage](const std::stop_token& stop) {
    while (!stop.stop_requested()) (void)stage.replicator().wait(std::chrono::milliseconds(1));
  });
  for (int round = 0; round < 3; ++round) {
    (void)value_of(stage.step(7, ids, 0));
    keeper_.kill();
    ASSERT_TRUE(test::eventually([&] { return !stage.replicator().status().connected; }));
    keeper_.start();
    test::succeeds(stage.replicator().reconnect());
  }
  ASSERT_TRUE(test::eventually([&] {
    test::succeeds(stage.replicator().flush(stage.stream()));
    return stage.replicator().watermark(7) == 20;
  }));
}

}  // namespace
}  // namespace aqua
