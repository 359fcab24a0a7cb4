// SPDX-License-Identifier: Apache-2.0
// A prefix cache that is kept: its bytes are those that were stored, in whichever process, or they
// are a miss.
#include <filesystem>

#include "tests/systems/prefix/kept/kept_fixture.hpp"

namespace aqua::test {
namespace {

constexpr std::size_t tokens = 27;  // the last block of the index is partial
constexpr std::size_t blocks = 4;   // of the index

TEST_F(KeptPrefixCache, ComesBackByteForByteAfterEngineAndKeeperWereKilled) {
  store_in_a_process_that_is_killed(5);
  keeper_.kill();
  start();
  KeptEngine engine(keeping());
  EXPECT_EQ(engine.cache().kept().found_blocks, 5 * blocks);
  EXPECT_EQ(engine.cache().index().blocks(), 5 * blocks);
  EXPECT_EQ(engine.cache().bytes(), 0U) << "no tensor before it is hit";
  for (unsigned i = 1; i <= 5; ++i) EXPECT_EQ(engine.hit(i, tokens), tokens) << i;
  EXPECT_EQ(engine.cache().bytes(), 5 * 7 * 4 * KeptEngine::plane_bytes);
  for (unsigned i = 1; i <= 5; ++i) EXPECT_EQ(engine.hit(i, tokens), tokens) << "of tensors";
  EXPECT_EQ(engine.hit(6, tokens), 0U);
  EXPECT_EQ(engine.cache().kept().refused, 0U);
}

TEST_F(KeptPrefixCache, OutlivesItsEngineWithAKeeperThatHasNoDisk) {
  start_without_disk();
  in_a_process_that_is_killed([&] {
    KeptEngine engine(keeping());
    engine.store(1, tokens);
    EXPECT_TRUE(engine.keep_all());
  });
  {
    KeptEngine engine(keeping());
    EXPECT_EQ(engine.hit(1, tokens), tokens);
  }
  KeptEngine engine(keeping());
  EXPECT_EQ(engine.hit(1, tokens), tokens) << "a hit takes nothing from the keeper";
  keeper_.kill();
  keeper_.start();
  KeptEngine next(keeping());
  EXPECT_EQ(next.hit(1, tokens), 0U);
}

// The cache's own order of use is not lost: prompts that were hit last stay longest.
TEST_F(KeptPrefixCache, KnowsAfterARestartWhatWasUsedLast) {
  in_a_process_that_is_killed([&] {
    KeptEngine engine(keeping());
    for (unsigned i = 1; i <= 3; ++i) engine.store(i, tokens);
    EXPECT_EQ(engine.hit(1, tokens), tokens);
    EXPECT_TRUE(engine.keep_all());
  });
  KeptEngine engine(keeping(), 3 * blocks);
  engine.store(4, tokens);
  EXPECT_EQ(engine.hit(1, tokens), tokens);
  EXPECT_EQ(engine.hit(2, tokens), 0U);
  EXPECT_EQ(engine.hit(3, tokens), tokens);
}

// What goes on after a restart is kept as before: new blocks, behind those that were found.
TEST_F(KeptPrefixCache, GoesOnBehindWhatItHasFound) {
  store_in_a_process_that_is_killed(1, 16);
  {
    KeptEngine engine(keeping());
    EXPECT_EQ(engine.hit(1, 24), 16U);
    engine.store(1, 24);
    EXPECT_TRUE(engine.keep_all());
    EXPECT_EQ(engine.cache().kept().blocks, 3U);
  }
  EXPECT_EQ(segments(), 2U) << "nothing is written twice";
  KeptEngine engine(keeping());
  EXPECT_EQ(engine.hit(1, 24), 24U);
}

TEST_F(KeptPrefixCache, OfAnotherShapeIsDroppedAndOfAnotherNameLeftAlone) {
  store_in_a_process_that_is_killed(2);
  PrefixKeeping other = keeping();
  other.name = "neighbour";
  {
    KeptEngine neighbour(other);
    EXPECT_EQ(neighbour.cache().kept().found_blocks, 0U);
    EXPECT_EQ(neighbour.hit(1, tokens), 0U);
    EXPECT_EQ(segments(), 2U);
    neighbour.store(9, tokens);
    EXPECT_TRUE(neighbour.keep_all());
  }
  KeptEngine changed(keeping("model 2, bytes"));
  EXPECT_EQ(changed.cache().kept().refused, 2U);
  EXPECT_EQ(changed.hit(1, tokens), 0U);
  EXPECT_TRUE(eventually([&] { return segments() == 1; })) << "the neighbour's";
}

TEST_F(KeptPrefixCache, WithoutAKeeperWorksAndSaysWhy) {
  keeper_.kill();
  KeptEngine engine(keeping());
  const PrefixKept kept = engine.cache().kept();
  EXPECT_FALSE(kept.connected);
  EXPECT_NE(kept.error, "");
  engine.store(1, tokens);
  EXPECT_EQ(engine.hit(1, tokens), tokens);
  EXPECT_FALSE(engine.cache().write_behind());
}

TEST_F(KeptPrefixCache, BadOptionsAreNamed) {
  KeptEngine engine(keeping());
  const auto refusal = [&](const PrefixKeeping& keep) {
    const PrefixCopies copies{.block_bytes = 64,
                              .offload = [](auto, auto&, auto) { return Ticket(); },
                              .fetch = [](auto&, auto, auto) { return Ticket(); }};
    return PrefixCache::create(engine.runtime(), copies, {.keep = keep}).error();
  };
  PrefixKeeping bad = keeping();
  bad.name = "a/b";
  EXPECT_EQ(refusal(bad).code, Code::invalid_argument);
  EXPECT_NE(refusal(bad).message.find("a/b"), std::string::npos);
  bad = keeping("");
  EXPECT_EQ(refusal(bad).code, Code::invalid_argument);
  // The layout is added to the text, and counts for nothing of its length.
  const EngineBlocks blocks_of(engine.runtime(), KeptEngine::plane_bytes);
  for (const std::size_t length : {0U, 1U, 1024U, 1025U}) {
    const auto made = PrefixCache::create(engine.runtime(), blocks_of.layout(),
                                          {.keep = keeping(std::string(length, 'x'))});
    EXPECT_EQ(made.ok(), length == 1 || length == 1024) << length;
    if (!made.ok()) {
      EXPECT_EQ(made.error().code, Code::invalid_argument);
    }
  }
}

TEST_F(KeptPrefixCache, WhatIsEvictedIsDroppedAtTheKeeper) {
  store_in_a_process_that_is_killed(4);
  KeptEngine engine(keeping(), 2 * blocks);  // room for the latest two
  EXPECT_EQ(engine.cache().index().blocks(), 2 * blocks);
  EXPECT_TRUE(eventually([&] { return segments() == 2; }));
  EXPECT_EQ(engine.hit(1, tokens) + engine.hit(2, tokens), 0U);
  EXPECT_EQ(engine.hit(4, tokens), tokens);
  engine.store(5, tokens);
  EXPECT_TRUE(engine.keep_all());
  EXPECT_TRUE(eventually([&] { return segments() == 2; }));
  EXPECT_EQ(engine.hit(3, tokens), 0U) << "the least recently used";
  engine.cache().set_capacity(0);
  EXPECT_TRUE(eventually([&] { return segments() == 0; }));
  EXPECT_EQ(engine.cache().kept().bytes, 0U);
}

TEST_F(KeptPrefixCache, WhatFindsNoRoomIsNotKeptAndSaid) {
  PrefixKeeping little = keeping();
  little.max_bytes = std::size_t{5} << 20;  // two segments, which are taken whole
  KeptEngine engine(little);
  for (unsigned i = 1; i <= 4; ++i) engine.store(i, tokens);
  EXPECT_TRUE(engine.keep_all());
  const PrefixKept kept = engine.cache().kept();
  EXPECT_EQ(kept.blocks, 2 * blocks);
  EXPECT_EQ(kept.given_up, 2U);
  EXPECT_LE(kept.bytes, little.max_bytes);
  EXPECT_NE(kept.error.find("of at most 5242880"), std::string::npos) << kept.error;
  for (unsigned i = 1; i <= 4; ++i) EXPECT_EQ(engine.hit(i, tokens), tokens);
}

TEST_F(KeptPrefixCache, ListsItsPromptsAlsoWhereBlocksHaveUsedUpItsRoom) {
  PrefixKeeping little = keeping();
  little.max_bytes = little.segment_bytes;
  KeptEngine engine(little);
  engine.store(1, tokens);
  EXPECT_TRUE(engine.keep_all());
  EXPECT_EQ(list_segments(keeper_.socket()).value().size(), 2U) << "the blocks and the list";
}

TEST_F(KeptPrefixCache, IsReadFromAKeeperThatHasNoRoomForMore) {
  keeper_.kill();
  keeper_.start({AQUA_KEEPER_PROGRAM, "--socket", keeper_.socket(), "--segment-bytes", "8388608"});
  in_a_process_that_is_killed([&] {  // which may have half of it, two segments
    KeptEngine engine(keeping());
    engine.store(1, tokens);
    EXPECT_TRUE(engine.keep_all()) << engine.cache().kept().error;
  });
  PrefixKeeping other = keeping();
  other.name = "neighbour";
  KeptEngine neighbour(other);  // has the other half ready
  const auto more = Segments::open(neighbour.runtime(),
                                   {.segment_bytes = other.segment_bytes, .keeper = other.keeper});
  ASSERT_FALSE(more.ok());
  ASSERT_EQ(more.error().code, Code::resource_exhausted);
  KeptEngine engine(keeping());
  EXPECT_TRUE(engine.cache().kept().connected) << engine.cache().kept().error;
  EXPECT_EQ(engine.hit(1, tokens), tokens);
}

// A list of one prompt of one block is the smallest: the next cache replaces it.
TEST_F(KeptPrefixCache, LeavesOneListOfPromptsHoweverShort) {
  start_without_disk();
  for (const std::size_t there : {0U, 8U, 8U}) {
    KeptEngine engine(keeping());
    EXPECT_EQ(engine.hit(1, 8), there);
    engine.store(1, 8);
    EXPECT_TRUE(engine.cache().write_behind(std::chrono::milliseconds::max()));
    EXPECT_TRUE(eventually([&] { return list_segments(keeper_.socket()).value().size() == 2; }))
        << "the block and the list";
  }
}

TEST_F(KeptPrefixCache, ClosesWhatOpensAfterItsPatience) {
  store_in_a_process_that_is_killed(1);
  const auto readers = [&] {
    std::uint32_t all = 0;
    for (const SegmentStatus& each : list_segments(keeper_.socket()).value()) all += each.readers;
    return all;
  };
  PrefixKeeping hasty = keeping();
  hasty.patience = {};
  KeptEngine engine(hasty);
  const std::uint32_t found = engine.cache().kept().found_blocks == 0 ? 0 : 1;
  EXPECT_TRUE(eventually([&] { return readers() > 0; }));
  EXPECT_TRUE(eventually([&] {
    (void)engine.cache().write_behind();
    return readers() == found;
  }));
}

// What was found stays mapped, so it is served on; the rest is in tensors.
TEST_F(KeptPrefixCache, ServesOnWhenItsKeeperDies) {
  store_in_a_process_that_is_killed(2);
  KeptEngine engine(keeping());
  engine.store(3, tokens);
  keeper_.kill();
  for (unsigned i = 1; i <= 3; ++i) EXPECT_EQ(engine.hit(i, tokens), tokens) << i;
  engine.store(4, tokens);
  EXPECT_EQ(engine.hit(4, tokens), tokens);
  EXPECT_TRUE(eventually([&] { return !engine.cache().kept().connected; }));
  EXPECT_NE(engine.cache().kept().error, "");
}

// A power cut leaves any part of the log's end.
TEST_F(KeptPrefixCache, OfATornLogIsAMissOrItsBytes) {
  store_in_a_process_that_is_killed(3);
  keeper_.kill();
  const std::filesystem::path log = disk() + "/0000000001.blobs";
  const auto size = std::filesystem::file_size(log);
  std::filesystem::copy_file(log, dir_ / "whole");
  for (const double part : {0.99, 0.6, 0.4, 0.01}) {
    std::filesystem::copy_file(dir_ / "whole", log,
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(log,
                                 static_cast<std::uintmax_t>(part * static_cast<double>(size)));
    start();
    {
      KeptEngine engine(keeping());
      std::size_t hits = 0;
      for (unsigned i = 1; i <= 3; ++i) hits += engine.hit(i, tokens);
      EXPECT_EQ(hits % tokens, 0U);
      EXPECT_LT(hits, 3 * tokens) << part;
      EXPECT_EQ(hits == 0, part < 0.3) << part;
    }
    keeper_.kill();
  }
}

}  // namespace
}  // namespace aqua::test
