// SPDX-License-Identifier: Apache-2.0
// What a ReplicaReader does with segments that are not simply the owner's packs.
#include "aqua/kv_stream/replica_reader.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <optional>
#include <string_view>

#include "base/step.hpp"
#include "systems/kv_stream/decide/replica/pack.hpp"
#include "systems/kv_stream/decide/replica/token_ids.hpp"
#include "tests/systems/kv_stream/act/replicas_fixture.hpp"

namespace aqua {
namespace {

using test::Ids;
using test::ids_of;
using test::ReplicaStage;
using test::value_of;

using ReplicaReaders = test::ReplicasFixture;

TEST_F(ReplicaReaders, PacksOfAnotherLifeEndNoTermAndAreReadByNobodyWhoDoesNotNameIt) {
  const Ids ids = ids_of(1, 20), other = ids_of(2, 20);
  {
    ReplicaStage former(keeper_.socket());
    auto options = former.options();
    options.owner.life = "a";
    options.term = 5;
    former.replicate(options);
    write(former, 7, ids, 20);
  }
  ReplicaStage stage(keeper_.socket());
  auto options = stage.options();
  options.owner.life = "b";
  stage.replicate(options);
  write(stage, 7, other, 20);

  auto reader = stage.reader(/*term=*/2, "b");
  EXPECT_EQ(reader.watermark(7, other, 64), 20U);
  EXPECT_EQ(reader.watermark(7, ids, 64), 0U) << "of the other life";
  EXPECT_EQ(reader.status().other_lives, 1U);
  EXPECT_EQ(reader.status().refused, 0U);
  EXPECT_EQ(stage.reader(/*term=*/6, "a").watermark(7, ids, 64), 20U) << "by its name";

  test::succeeds(reader.finish(stage.stream()));
  { const auto let_go = std::move(reader); }
  EXPECT_EQ(kept(), 1U) << "what the other life has left";
  reader = stage.reader(/*term=*/3, "b");
  test::succeeds(reader.drop_other_lives());
  EXPECT_EQ(reader.status().other_lives, 0U);
  { const auto let_go = std::move(reader); }
  EXPECT_EQ(kept(), 0U);
}

TEST_F(ReplicaReaders, WhoTellsNoLivesApartLeavesThePacksOfALifeAlone) {
  const Ids ids = ids_of(1, 20);
  ReplicaStage living(keeper_.socket());
  auto options = living.options();
  options.owner.life = "a";
  options.term = 5;
  living.replicate(options);
  write(living, 7, ids, 20);

  ReplicaStage stage(keeper_.socket());
  std::optional reader = stage.reader(/*term=*/2);
  EXPECT_EQ(reader->status().other_lives, 0U);
  EXPECT_EQ(reader->watermark(7, ids, 64), 0U);
  test::succeeds(reader->drop_other_lives());
  test::succeeds(reader->finish(stage.stream()));
  reader.reset();
  EXPECT_EQ(kept(), 1U);
}

// Commits a pack of one sequence with a digest, and changes a byte of its KV then.
class WriterThatWroteOn {
 public:
  WriterThatWroteOn(ReplicaStage& stage, const std::string& keeper, const Ids& ids)
      : segments_(value_of(Segments::open(
            stage.runtime(),
            {.segment_bytes = std::size_t{2} << 20, .digest = true, .keeper = keeper}))) {
    const Segment segment = value_of(segments_.take(std::size_t{2} << 20));
    kv_stream::Pack pack{
        .owner = ReplicaStage::owner(), .shape = "test", .token_bytes = ReplicaStage::kTokenBytes};
    pack.term = 1;
    pack.entries.push_back({.sequence = 7,
                            .ids = ids,
                            .offset = kv_stream::kPackHeadBytes,
                            .before = kv_stream::TokenIds(ids).fingerprint(0)});
    const std::size_t kv_end = kv_stream::kPackHeadBytes + ids.size() * pack.token_bytes;
    const std::size_t bytes = write_pack(pack, kv_end, {segment.address, segment.bytes});
    test::succeeds(segments_.commit(segment.number, bytes, stage.stream()));
    std::vector<CommittedSegment> committed;
    while ((committed = segments_.committed()).empty()) {
      if (!segments_.wait(std::chrono::seconds(30))) throw std::runtime_error("not committed");
    }
    segment.address[kv_stream::kPackHeadBytes + 5] ^= std::byte{1};
  }

 private:
  Segments segments_;
};

TEST_F(ReplicaReaders, APackThatIsNotWhatWasCommittedIsRefusedAloneAndDropped) {
  const Ids ids = ids_of(1, 20), other = ids_of(2, 20);
  ReplicaStage stage(keeper_.socket());
  const WriterThatWroteOn writer(stage, keeper_.socket(), ids);
  auto options = stage.options();
  options.digest = true;
  stage.replicate(options);
  write(stage, 8, other, 20);
  ASSERT_EQ(kept(), 2U);

  auto reader = stage.reader();
  EXPECT_EQ(reader.watermark(7, ids, 64), 0U);
  EXPECT_EQ(reader.watermark(8, other, 64), 20U) << "the other pack is what it was";
  EXPECT_EQ(reader.status().packs, 1U);
  EXPECT_EQ(reader.status().refused, 1U);
  EXPECT_NE(reader.status().error.find("is not what was committed"), std::string::npos);
  stage.wipe(8);
  (void)value_of(reader.restore(8, other, 20, stage.layout(), stage.blocks(8), stage.stream()));
  EXPECT_EQ(stage.wrong(8, other), 0U);
  test::succeeds(reader.finish(stage.stream()));
  { const auto let_go = std::move(reader); }
  EXPECT_EQ(kept(), 1U) << "the one that was restored";
}

// While there is one, this process gets no further descriptors from the first segment on that it
// maps, so that it can map none.
class NoDescriptorsToMap {
 public:
  NoDescriptorsToMap() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    step_hook = [](const char* name) {
      if (name != std::string_view("map")) return;
      rlimit none{};
      EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &none), 0);
      none.rlim_cur = 1;
      EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    };
  }
  ~NoDescriptorsToMap() {
    step_hook = nullptr;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0);
  }
  NoDescriptorsToMap(const NoDescriptorsToMap&) = delete;
  NoDescriptorsToMap& operator=(const NoDescriptorsToMap&) = delete;

 private:
  rlimit before_{};
};

TEST_F(ReplicaReaders, WhatCannotBeOpenedIsToldAndLookedAtAgain) {
  const Ids ids = ids_of(1, 20);
  {
    ReplicaStage dead(keeper_.socket());
    dead.replicate();
    write(dead, 7, ids, 20);
  }
  ReplicaStage stage(keeper_.socket());
  std::optional<kv_stream::ReplicaReader> reader;
  {
    const NoDescriptorsToMap none;
    reader.emplace(stage.reader());
  }
  EXPECT_EQ(reader->watermark(7, ids, 64), 0U);
  EXPECT_EQ(reader->status().unopened, 1U);
  EXPECT_NE(reader->status().error, "");
  {
    const NoDescriptorsToMap none;
    const auto finished = reader->finish(stage.stream());
    ASSERT_FALSE(finished.ok()) << "it cannot be dropped: it may be another owner's";
    EXPECT_EQ(finished.error().code, Code::resource_exhausted);
    EXPECT_NE(finished.error().message.find("1 segments could not be opened"), std::string::npos)
        << finished.error().message;
  }
  EXPECT_EQ(kept(), 1U);
  test::succeeds(reader->finish(stage.stream()));
  EXPECT_EQ(reader->status().unopened, 0U);
  reader.reset();
  EXPECT_EQ(kept(), 0U);
}

TEST_F(ReplicaReaders, WhatIsNotOpenedInTimeIsAwaitedByTheNextFinish) {
  ReplicaStage stage(keeper_.socket());
  std::optional reader = value_of(
      kv_stream::ReplicaReader::open(stage.runtime(), {.owner = ReplicaStage::owner(),
                                                       .shape = "test",
                                                       .term = 2,
                                                       .keeper = keeper_.socket(),
                                                       .patience = std::chrono::seconds(1)}));
  {
    ReplicaStage late(keeper_.socket());
    late.replicate();
    write(late, 7, ids_of(1, 20), 20);
  }
  static std::atomic<bool> held{true};
  held = true;
  step_hook = [](const char* name) {
    if (name == std::string_view("open")) held.wait(true);
  };
  const auto finished = reader->finish(stage.stream());
  held = false;
  held.notify_all();
  step_hook = nullptr;
  ASSERT_FALSE(finished.ok());
  EXPECT_EQ(finished.error().code, Code::unavailable) << finished.error().message;
  EXPECT_EQ(kept(), 1U);
  test::succeeds(reader->finish(stage.stream()));
  reader.reset();
  EXPECT_EQ(kept(), 0U);
}

TEST_F(ReplicaReaders, OfATermThatIsOverNothingIsDroppedHoweverOftenItIsFinished) {
  ReplicaStage dead(keeper_.socket()), stage(keeper_.socket()), successor(keeper_.socket());
  dead.replicate();
  write(dead, 7, ids_of(1, 20), 20);
  auto reader = stage.reader(/*term=*/2);
  auto options = successor.options();
  options.term = 3;
  successor.replicate(options);
  write(successor, 8, ids_of(2, 20), 20);
  for (int i = 0; i < 2; ++i) {
    const auto finished = reader.finish(stage.stream());
    ASSERT_FALSE(finished.ok());
    EXPECT_EQ(finished.error().code, Code::aborted) << finished.error().message;
  }
  { const auto let_go = std::move(reader); }
  EXPECT_EQ(kept(), 2U);
}

TEST_F(ReplicaReaders, WhatTheSuccessorHasWrittenIsNotDroppedByAReaderOfItsTerm) {
  const Ids ids = ids_of(1, 20), other = ids_of(2, 20);
  {
    ReplicaStage dead(keeper_.socket());
    dead.replicate();
    write(dead, 7, ids, 20);
    write(dead, 8, other, 20);
  }
  ReplicaStage stage(keeper_.socket());
  auto options = stage.options();
  options.term = 2;
  stage.replicate(options);
  {
    auto first = stage.reader(/*term=*/2);
    stage.take_blocks(7, ids.size());
    const auto restored =
        value_of(first.restore(7, ids, 20, stage.layout(), stage.blocks(7), stage.stream()));
    test::succeeds(stage.replicator().adopt(
        {.sequence = 7, .blocks = stage.blocks(7), .ids = ids, .pieces = restored.pieces}));
    write(stage, 9, other, 20);
  }  // which ended before it has finished
  auto second = stage.reader(/*term=*/2);
  (void)value_of(second.restore(7, ids, 20, stage.layout(), stage.blocks(7), stage.stream()));
  test::succeeds(second.finish(stage.stream()));
  { const auto let_go = std::move(second); }
  const auto next = stage.reader(/*term=*/3);
  EXPECT_EQ(next.watermark(7, ids, 64), 20U);
  EXPECT_EQ(next.watermark(8, other, 64), 0U);
  EXPECT_EQ(next.watermark(9, other, 64), 20U);
}

TEST_F(ReplicaReaders, APieceThatAnotherKeeperHadIsNotHeldAndDropsNobodysPack) {
  const Ids ids = ids_of(1, 20);
  ReplicaStage living(keeper_.socket()), stage(keeper_.socket());
  living.replicate();
  write(living, 7, ids, 20);
  auto reader = stage.reader();
  stage.take_blocks(7, ids.size());
  auto restored =
      value_of(reader.restore(7, ids, 20, stage.layout(), stage.blocks(7), stage.stream()));
  // As of a keeper that had given the same numbers, and has died.
  for (kv_stream::ReplicaPiece& piece : restored.pieces) piece.keeper -= 1;
  stage.replicate();
  test::succeeds(stage.replicator().adopt(
      {.sequence = 7, .blocks = stage.blocks(7), .ids = ids, .pieces = restored.pieces}));
  EXPECT_EQ(stage.replicator().watermark(7), 0U);
  EXPECT_EQ(stage.replicator().status().packs_kept, 0U);
  stage.await(7, 20);
  stage.replicator().finish(7);
  { const auto let_go = std::move(reader); }
  stage.replicate();  // the former one has told the keeper when it is gone
  EXPECT_EQ(kept(), 1U) << "the living one's";
  EXPECT_EQ(stage.reader().watermark(7, ids, 64), 20U);
}

TEST_F(ReplicaReaders, APackThatIsDroppedMeanwhileIsNoError) {
  const Ids ids = ids_of(1, 20);
  ReplicaStage stage(keeper_.socket());
  stage.replicate();
  write(stage, 7, ids, 20);
  // Dropped between the list and the opening.
  static std::atomic<const std::string*> keeper{nullptr};
  const std::string socket = keeper_.socket();
  keeper = &socket;
  step_hook = [](const char* name) {
    const std::string* const of =
        name == std::string_view("open") ? keeper.exchange(nullptr) : nullptr;
    if (of == nullptr) return;
    for (const SegmentStatus& each : list_segments(*of).value())
      test::succeeds(drop_segment(each.name.number, each.name.generation, *of));
  };
  const auto reader = stage.reader();
  step_hook = nullptr;
  EXPECT_EQ(kept(), 0U);
  EXPECT_EQ(reader.watermark(7, ids, 64), 0U);
  EXPECT_EQ(reader.status().unopened, 0U);
  EXPECT_EQ(reader.status().error, "");
}

}  // namespace
}  // namespace aqua
