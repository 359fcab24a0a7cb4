// SPDX-License-Identifier: Apache-2.0
// What one server's keeper keeps is copied to another's: byte for byte, whatever ends meanwhile,
// and for as long as the original is kept.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "tests/southbound/peers.hpp"
#include "tests/systems/kv_stream/act/replica_stage.hpp"
#include "tests/tools/courier/mirror/mirrored.hpp"

namespace aqua {
namespace {

using keeper::test::Client;
using test::ids_of;
using test::Mirrored;
using test::ReplicaStage;
using test::value_of;
using testing::eventually;

TEST_F(Mirrored, WhatIsKeptIsCopiedByteForByteUntilItIsDropped) {
  servers_.mirror();
  const auto a = client_of(servers_.keeper_of_a());
  const SegmentName small = a->commit(1, 1), large = a->commit(2, 5'000'001, false);
  EXPECT_TRUE(eventually([&] { return is_copied(small, 1) && is_copied(large, 2); }));
  a->say(segment_wire::Drop{small.number, small.generation});
  EXPECT_TRUE(eventually([&] { return copies() == 1; }));
  EXPECT_TRUE(is_copied(large, 2));
  // Its writer has it back, and fills it again.
  EXPECT_EQ(a->say(segment_wire::Returned{}).numbers, std::vector{small.number});
  const SegmentName again = a->say(segment_wire::Commit{.number = small.number, .bytes = 1}).name;
  EXPECT_EQ(again.generation, 2U);
  EXPECT_TRUE(eventually([&] { return is_copied(again, 1); }));
  EXPECT_EQ(copies(), 2U);
}

TEST_F(Mirrored, WhatWasKeptBeforeIsCopiedToo) {
  const auto a = client_of(servers_.keeper_of_a());
  const SegmentName before = a->commit(1, 100);
  servers_.mirror();
  EXPECT_TRUE(eventually([&] { return is_copied(before, 1); }));
  // Dropped while no courier runs.
  servers_.kill_a();
  a->say(segment_wire::Drop{before.number, before.generation});
  const SegmentName meanwhile = a->commit(2, 100);
  servers_.start_a();
  EXPECT_TRUE(eventually([&] { return is_copied(meanwhile, 2) && copies() == 1; }));
}

TEST_F(Mirrored, CopiesOutliveTheirServer) {
  servers_.mirror();
  const SegmentName original = client_of(servers_.keeper_of_a())->commit(1, 100);
  EXPECT_TRUE(eventually([&] { return is_copied(original, 1); }));
  servers_.kill_a();
  servers_.keeper_of_a().kill();
  servers_.keeper_of_a().start();
  servers_.start_a();
  const SegmentName later = client_of(servers_.keeper_of_a())->commit(2, 200);
  EXPECT_TRUE(eventually([&] { return is_copied(later, 2); })) << "of the new keeper's";
  EXPECT_EQ(copies(), 2U) << "nobody has dropped the former one's";
}

TEST_F(Mirrored, AKeeperThatBeginsAnewGetsAllOfThemAgain) {
  servers_.mirror();
  const auto a = client_of(servers_.keeper_of_a());
  const SegmentName original = a->commit(1, 100);
  EXPECT_TRUE(eventually([&] { return is_copied(original, 1); }));
  // Also where nothing has come over the connection that there is.
  for (const bool over_this_connection : {true, false}) {
    if (!over_this_connection) {
      servers_.kill_b();
      servers_.start_b();
      EXPECT_TRUE(eventually([&] { return servers_.courier_of_a()->ask("up") == "2"; }));
    }
    servers_.keeper_of_b().kill();
    servers_.keeper_of_b().start();
    EXPECT_TRUE(eventually([&] { return is_copied(original, 1); }));
  }
}

// What was dropped while it was away is forgotten, and what it still has does not cross again.
TEST_F(Mirrored, AKeeperWithADiskHasItsCopiesAgainAndIsSentNoneOfThemTwice) {
  const testing::TempDir disk;
  auto& keeper = servers_.keeper_of_b();
  const auto start_with_disk = [&] {
    keeper.start({AQUA_KEEPER_PROGRAM, "--socket", keeper.socket(), "--disk", disk / "segments"});
  };
  keeper.kill();
  start_with_disk();
  servers_.mirror();
  const auto a = client_of(servers_.keeper_of_a());
  const SegmentName kept = a->commit(1, 3'000'000), dropped = a->commit(2, 100);
  EXPECT_TRUE(eventually([&] {
    return copies() == 2 && client_of(keeper)->disk().durable == SegmentSum{2, 3'000'100};
  }));
  servers_.kill_a();
  keeper.kill();
  a->say(segment_wire::Drop{dropped.number, dropped.generation});
  const SegmentName meanwhile = a->commit(3, 100);
  start_with_disk();
  EXPECT_EQ(copies(), 2U) << "with nobody to send them";
  servers_.start_a();
  EXPECT_TRUE(eventually([&] { return is_copied(meanwhile, 3) && copies() == 2; }));
  EXPECT_TRUE(is_copied(kept, 1));
  EXPECT_EQ(servers_.courier_of_a()->ask("mirrored"), "1");
}

// It has the same segments under the same names, and their copies are good still.
TEST_F(Mirrored, WhatAKeeperHasFoundOnItsDiskIsNotSentAgain) {
  const testing::TempDir disk;
  auto& keeper = servers_.keeper_of_a();
  const auto start_with_disk = [&] {
    keeper.start({AQUA_KEEPER_PROGRAM, "--socket", keeper.socket(), "--disk", disk / "segments"});
  };
  keeper.kill();
  start_with_disk();
  servers_.mirror();
  SegmentName one, other;
  {
    const auto a = client_of(keeper);
    one = a->commit(1, 3'000'000), other = a->commit(2, 100);
    EXPECT_TRUE(eventually([&] {
      return copies() == 2 && a->disk().durable == SegmentSum{2, 3'000'100};
    }));
  }
  servers_.kill_a();
  keeper.kill();
  start_with_disk();
  servers_.start_a();
  const auto a = client_of(keeper);
  const SegmentName later = a->commit(3, 100);
  EXPECT_TRUE(eventually([&] { return is_copied(later, 3); }));
  EXPECT_TRUE(eventually([&] { return servers_.courier_of_a()->ask("mirrored") == "1"; }));
  EXPECT_EQ(copies(), 3U);
  EXPECT_TRUE(is_copied(one, 1));
  a->say(segment_wire::Drop{other.number, other.generation});
  EXPECT_TRUE(eventually([&] { return copies() == 2; }));
  EXPECT_TRUE(is_copied(one, 1));
}

// As a keeper with a disk may: it had no memory for one, was sent that again, and then had room.
TEST_F(Mirrored, OfTwoCopiesOfOneSegmentOneIsDropped) {
  const auto a = client_of(servers_.keeper_of_a());
  const SegmentName kept = a->commit(1, 100);
  const auto b = client_of(servers_.keeper_of_b());
  const std::uint64_t which =
      Client(servers_.keeper_of_a().socket()).say(segment_wire::Join{}).name.number;
  for (int i = 0; i < 2; ++i) {
    b->commit(1, 100, true, SegmentOrigin{"a.test", which, kept.number, kept.generation});
  }
  EXPECT_EQ(copies(), 2U);
  servers_.mirror();
  EXPECT_TRUE(eventually([&] { return copies() == 1; }));
  EXPECT_TRUE(is_copied(kept, 1));
}

TEST_F(Mirrored, ManyAreListedAndCopied) {
  servers_.mirror();
  const auto a = client_of(servers_.keeper_of_a());
  std::map<std::uint64_t, SegmentName> all;
  for (std::uint64_t stamp = 1; stamp <= 150; ++stamp) all[stamp] = a->commit(stamp, 10);
  EXPECT_TRUE(eventually([&] { return copies() == all.size(); }));
  servers_.kill_a();
  servers_.start_a();
  EXPECT_TRUE(eventually([&] { return servers_.courier_of_a()->ask("up") == "2"; }));
  EXPECT_EQ(servers_.courier_of_a()->ask("mirrored"), "0") << "they are there";
  for (const auto& [stamp, name] : all) EXPECT_TRUE(is_copied(name, stamp)) << stamp;
}

TEST_F(Mirrored, CopiesAreNotCopiedBack) {
  servers_.mirror(/*both=*/true);
  const auto a = client_of(servers_.keeper_of_a());
  const auto b = client_of(servers_.keeper_of_b());
  const SegmentName of_a = a->commit(1, 100);
  b->commit(2, 100);
  EXPECT_TRUE(eventually([&] { return a->rows().size() == 2 && b->rows().size() == 2; }));
  // What is said after that has come, so that what could have come back has, too.
  a->commit(3, 100);
  EXPECT_TRUE(eventually([&] { return b->rows().size() == 3; }));
  b->commit(4, 100);
  EXPECT_TRUE(eventually([&] { return a->rows().size() == 4; }));
  EXPECT_EQ(b->rows().size(), 4U);
  a->say(segment_wire::Drop{of_a.number, of_a.generation});
  EXPECT_TRUE(eventually([&] { return a->rows().size() == 3 && b->rows().size() == 3; }));
}

TEST_F(Mirrored, AFullKeeperGetsTheOthersOnceOneIsDropped) {
  servers_.mirror();
  // Half of it is for one process: two copies.
  auto& keeper = servers_.keeper_of_b();
  keeper.kill();
  keeper.start({AQUA_KEEPER_PROGRAM, "--socket", keeper.socket(), "--segment-bytes", "8388608"});
  const auto a = client_of(servers_.keeper_of_a());
  std::vector<SegmentName> all;
  for (std::uint64_t stamp = 1; stamp <= 4; ++stamp) all.push_back(a->commit(stamp, 100));
  EXPECT_TRUE(eventually([&] { return is_copied(all[0], 1) && is_copied(all[1], 2); }));
  EXPECT_EQ(copies(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    a->say(segment_wire::Drop{all[i].number, all[i].generation});
  }
  EXPECT_TRUE(eventually([&] { return is_copied(all[2], 3) && is_copied(all[3], 4); }));
  EXPECT_EQ(copies(), 2U);
}

// Which keeps the courier there from answering, while its connection is up.
TEST(ImpatientMirror, GivesUpOnAKeeperThatIsStoppedAndLetsGoOfWhatItOffered) {
  test::TwoServers servers(/*patience=*/1);
  servers.mirror();
  Client a(servers.keeper_of_a().socket());
  a.say(segment_wire::Join{});
  EXPECT_TRUE(eventually([&] { return servers.courier_of_a()->ask("up") == "2"; }));
  servers.keeper_of_b().process().stop();
  const SegmentName name = a.commit(1, 100);
  EXPECT_TRUE(eventually([&] { return servers.courier_of_a()->ask("lost") != "0"; }));
  a.say(segment_wire::Drop{name.number, name.generation});
  std::vector<std::uint64_t> back;
  EXPECT_TRUE(eventually([&] {
    back = a.say(segment_wire::Returned{}).numbers;
    return !back.empty();
  })) << "its writer";
  const SegmentName next = a.commit(2, 100);
  servers.keeper_of_b().process().signal(SIGCONT);
  Client b(servers.keeper_of_b().socket());
  b.say(segment_wire::Join{});
  EXPECT_TRUE(eventually([&] {
    const auto rows = b.rows();
    return rows.size() == 1 && rows[0].copy_of && rows[0].copy_of->number == next.number;
  }));
}

TEST_F(Mirrored, ASuccessorOnTheOtherServerReadsEachByte) {
  servers_.mirror();
  const test::Ids ids = ids_of(1, 40);
  {
    ReplicaStage dead(servers_.keeper_of_a().socket());
    dead.replicate();
    (void)value_of(dead.step(7, ids, 0));
    dead.await(7, 40);
    EXPECT_TRUE(eventually([&] {
      const auto rows = client_of(servers_.keeper_of_a())->rows();
      return !rows.empty() && copies() == rows.size();
    }));
  }
  // Its server is gone.
  servers_.kill_a();
  servers_.keeper_of_a().kill();
  ReplicaStage stage(servers_.keeper_of_b().socket(), 8);
  auto options = stage.options();
  options.term = 2;
  stage.replicate(options);
  auto reader = stage.reader();
  ASSERT_EQ(reader.watermark(7, ids, 48), 40U);
  stage.take_blocks(7, 48);
  (void)value_of(reader.restore(7, ids, 40, stage.layout(), stage.blocks(7), stage.stream()));
  EXPECT_EQ(stage.wrong(7, ids), 0U);
}

// One that is cut off from the group, and alive, drops what it had: its successor relies on that.
TEST_F(Mirrored, WhatASuccessorReliesOnStaysWhenItsFormerOwnerDropsIt) {
  servers_.mirror();
  const test::Ids ids = ids_of(1, 40);
  ReplicaStage former(servers_.keeper_of_a().socket());
  former.replicate();
  (void)value_of(former.step(7, ids, 0));
  former.await(7, 40);
  const auto a = client_of(servers_.keeper_of_a());
  std::vector<SegmentName> packs;
  EXPECT_TRUE(eventually([&] {
    packs.clear();
    for (const SegmentStatus& row : a->rows()) packs.push_back(row.name);
    return !packs.empty() && copies() == packs.size();
  }));
  std::uint64_t last = 0;
  const auto all_is_heard = [&] { come_and_gone(*a, ++last); };
  const auto restored = [&](ReplicaStage& stage, kv_stream::ReplicaReader& reader) {
    stage.take_blocks(7, 48);
    (void)value_of(reader.restore(7, ids, 40, stage.layout(), stage.blocks(7), stage.stream()));
    return stage.wrong(7, ids) == 0;
  };
  {
    ReplicaStage successor(servers_.keeper_of_b().socket(), 8);
    auto reader = successor.reader();
    // The former owner's order comes while they are read, and is not yet said again afterwards.
    for (const SegmentName& pack : packs) {
      a->say(segment_wire::Drop{pack.number, pack.generation});
    }
    all_is_heard();
    EXPECT_TRUE(restored(successor, reader));
    test::succeeds(reader.finish(successor.stream()));
    EXPECT_TRUE(eventually([&] {
      const auto rows = client_of(servers_.keeper_of_b())->rows();
      return std::ranges::all_of(rows, [](const SegmentStatus& row) { return row.readers == 0; });
    }));
  }
  // Nor does it go when the former owner's courier says again what it knows.
  servers_.kill_a();
  servers_.start_a();
  all_is_heard();
  EXPECT_EQ(copies(), packs.size());
  // The successor dies, and its own successor has all of it.
  ReplicaStage next(servers_.keeper_of_b().socket(), 8);
  auto reader = next.reader(3);
  ASSERT_EQ(reader.watermark(7, ids, 48), 40U);
  EXPECT_TRUE(restored(next, reader));
}

TEST_F(Mirrored, ACopyThatWasReadOnlyGoesWithItsOriginalOnceItIsNotReadAnyMore) {
  servers_.mirror();
  const auto a = client_of(servers_.keeper_of_a());
  const SegmentName original = a->commit(1, 100);
  EXPECT_TRUE(eventually([&] { return is_copied(original, 1); }));
  const auto reader = client_of(servers_.keeper_of_b());
  const SegmentName copy = reader->rows().at(0).name;
  reader->say(segment_wire::Open{copy.number, copy.generation});
  a->say(segment_wire::Drop{original.number, original.generation});
  come_and_gone(*a, 2);
  EXPECT_EQ(copies(), 1U);
  reader->say(segment_wire::Close{copy.number});
  EXPECT_TRUE(eventually([&] { return copies() == 0; }));
}

}  // namespace
}  // namespace aqua
