// SPDX-License-Identifier: Apache-2.0
// A ledger that begins with what a former life wrote down.
#include "tests/ledger/world.hpp"

namespace aqua::ledger::test {
namespace {

// What a store would hold: rows as they are, times to live and silence aside.
Image image_of(const Ledger& ledger) {
  Image image;
  for (const auto& [id, client] : ledger.clients())
    image.clients.push_back({client.info, client.draining});
  for (const auto& [id, slab] : ledger.slabs()) image.slabs.push_back(slab);
  for (const auto& [id, reclaim] : ledger.reclaims()) image.reclaims.push_back(reclaim);
  for (const auto& [consumer, producer] : ledger.pairs())
    image.pairs.push_back({producer, consumer, ledger.pair_book().is_explicit(consumer)});
  return image;
}

class LedgerRestored : public World {
 protected:
  LedgerRestored() {
    producer = join_producer(1);
    consumer = join_consumer(2);
    offer(producer, slabs(0, 3));
    accepted(ledger.pair(producer, consumer));
    grant = lease(consumer, kSlab).at(0);
  }
  void restart(Time later = Time{10}) {
    now += later;
    auto next = Ledger::restore({}, image_of(ledger), now);
    ASSERT_TRUE(next.ok()) << next.error().message;
    ledger = *std::move(next);
    EXPECT_EQ(ledger.check_invariants(), "");
    read_all();
  }
  ClientId producer, consumer;
  Grant grant;
};

TEST_F(LedgerRestored, WhoHeldHoldsInSilence) {
  restart();
  EXPECT_EQ(state(grant.slab), "suspect");
  EXPECT_EQ(ledger.slabs().at(grant.slab).holder, consumer);
  EXPECT_EQ(ledger.slabs().size(), 3U);
  EXPECT_EQ(ledger.pairs().at(consumer), producer);
  for (const auto& [id, client] : ledger.clients()) EXPECT_EQ(client.state, ClientState::suspect);
}

TEST_F(LedgerRestored, WhoWasDrainedStillIs) {
  accepted(ledger.drain(consumer, true));
  restart();
  join_producer(1);
  offer(producer, slabs(0, 3));
  join_consumer(2);
  refused(Code::failed_precondition, [&] { return ledger.lease(consumer, kSlab, kPlenty, now); });
  accepted(ledger.drain(consumer, false));
  EXPECT_TRUE(ledger.lease(consumer, kSlab, kPlenty, now).ok());
}

TEST_F(LedgerRestored, UntilItJoinsAClientIsUnknown) {
  restart();
  refused(Code::not_found, [&] { return ledger.renew(consumer, now); });
  refused(Code::not_found, [&] { return ledger.lease(consumer, kSlab, kPlenty, now); });
  refused(Code::not_found, [&] { return ledger.offer(producer, slabs(9, 1), now); });
  refused(Code::not_found,
          [&] { return ledger.give_back(consumer, grant.slab, grant.generation, now); });
}

TEST_F(LedgerRestored, TheHolderHasItsLeaseWhenItJoins) {
  restart();
  join_consumer(2);
  EXPECT_EQ(state(grant.slab), "leased");
  give_back(consumer, grant);
  EXPECT_EQ(state(grant.slab), "quarantined");
}

TEST_F(LedgerRestored, NothingIsGrantedOfAnExporterThatHasNotSpoken) {
  restart();
  join_consumer(2);
  refused(Code::unavailable, [&] { return ledger.lease(consumer, kSlab, kPlenty, now); });
}

TEST_F(LedgerRestored, WhenTheExporterJoinsOnlyItsWordCounts) {
  restart();
  join_consumer(2);
  join_producer(1);
  EXPECT_TRUE(ledger.slabs().empty()) << "it may have taken back, scrubbed and lent meanwhile";
  auto list = slabs(0, 1);
  list[0].generation = 4;
  offer(producer, list);
  EXPECT_EQ(lease(consumer, kSlab).at(0).generation, 4U);
}

TEST_F(LedgerRestored, WhatWasWrittenDownIsNotAllegedWhoeverJoinsFirst) {
  restart();
  join_consumer(2);
  join_producer(1);
  auto list = slabs(0, 3);
  list[0].holder = consumer;
  list[1].holder = consumer;  // never granted
  offer(producer, list);
  EXPECT_FALSE(is_alleged(ledger.slabs().at(grant.slab)));
  EXPECT_TRUE(is_alleged(ledger.slabs().at({producer, 1})));
  // Exits for two slabs, of which the one that was granted takes one.
  EXPECT_EQ(accepted(ledger.lease(consumer, kPlenty, 2 * kSlab, now)).size(), 1U);
}

TEST_F(LedgerRestored, WhatWasWrittenDownCountsForOneDeclaration) {
  restart();
  join_consumer(2);
  join_producer(1);
  auto list = slabs(0, 1);
  list[0].generation = 2;
  offer(producer, list);
  accepted(ledger.withdraw(producer, {0}, now));
  list[0].generation = 1;
  list[0].holder = consumer;
  offer(producer, list);
  EXPECT_TRUE(is_alleged(ledger.slabs().at(grant.slab)));
}

TEST_F(LedgerRestored, JoiningTwiceInOneLifeKeepsTheRows) {
  restart();
  join_producer(1);
  offer(producer, slabs(0, 2));
  join_producer(1);
  EXPECT_EQ(ledger.slabs().size(), 2U);
}

TEST_F(LedgerRestored, AReclaimGoesOnAndEndsByItsDeadline) {
  const auto start = reclaim(producer, 3 * kSlab, Time{500});
  ASSERT_EQ(start.reclaim.outstanding.size(), 1U);
  restart();
  EXPECT_FALSE(ledger.reclaims().at(start.reclaim.id).done);
  EXPECT_EQ(ledger.reclaims().at(start.reclaim.id).outstanding.size(), 1U);
  join_consumer(2);
  EXPECT_EQ(state(grant.slab), "revoking") << "the revocation is not lost";
  pass(Time{500});
  EXPECT_TRUE(ledger.reclaims().at(start.reclaim.id).done);
  EXPECT_TRUE(ledger.slabs().at(grant.slab).late);
}

TEST_F(LedgerRestored, AClockThatStandsEarlierMakesNoReclaimLonger) {
  const auto start = reclaim(producer, 3 * kSlab, Time{500});
  restart(Time{-900'000});
  pass(Time{500});
  EXPECT_TRUE(ledger.reclaims().at(start.reclaim.id).done);
}

TEST_F(LedgerRestored, ReclaimNumbersAreNotUsedAgain) {
  const auto start = reclaim(producer, kSlab, Time{500});
  restart();
  join_producer(1);
  offer(producer, slabs(0, 1));
  EXPECT_GT(reclaim(producer, kSlab, Time{500}).reclaim.id, start.reclaim.id);
}

TEST_F(LedgerRestored, TheDeadMakeOrphansAndScrubsAsEver) {
  restart();
  Ledger other = ledger;
  accepted(ledger.dead(producer, now));
  EXPECT_EQ(state(grant.slab), "orphaned");
  EXPECT_EQ(news(consumer), Kinds{"producer_gone"});
  accepted(other.dead(consumer, now));
  EXPECT_EQ(other.slabs().at(grant.slab).state, SlabState::quarantined);
}

TEST_F(LedgerRestored, OrphansOfAFormerLifeStayHeld) {
  accepted(ledger.dead(producer, now));
  restart();
  EXPECT_EQ(state(grant.slab), "orphaned");
  join_consumer(2);
  give_back(consumer, grant);
  EXPECT_TRUE(ledger.slabs().empty());
}

TEST_F(LedgerRestored, PairsThatAreNotAllowedAnyMoreAreDropped) {
  Image image = image_of(ledger);
  image.clients[1].info.device = image.clients[0].info.device;
  const auto next = Ledger::restore({}, image, now);
  ASSERT_TRUE(next.ok()) << next.error().message;
  EXPECT_TRUE(next->pairs().empty());
}

TEST_F(LedgerRestored, ClientsBeyondALimitThatWasLoweredComeBackAndNewOnesDoNot) {
  auto next = Ledger::restore({.max_clients = 1}, image_of(ledger), now);
  ASSERT_TRUE(next.ok()) << next.error().message;
  ledger = *std::move(next);
  join_consumer(2);
  EXPECT_EQ(state(grant.slab), "leased");
  join_producer(1);
  refused(Code::resource_exhausted, [&] { return ledger.join(client_info(3, false, true), now); });
}

TEST_F(LedgerRestored, RowsThatContradictEachOtherAreRefused) {
  const Image good = image_of(ledger);
  const auto refuse = [&](auto&& spoil) {
    Image bad = good;
    spoil(bad);
    const auto next = Ledger::restore({}, bad, now);
    ASSERT_FALSE(next.ok());
    EXPECT_EQ(next.error().code, Code::data_loss);
  };
  refuse([](Image& image) { image.slabs[0].state = SlabState::returned; });
  refuse([](Image& image) { image.slabs[0].holder.reset(); });
  refuse([](Image& image) { image.slabs[0].generation = 0; });
  refuse([](Image& image) { image.slabs[0].reclaim = 12; });
  refuse([](Image& image) { image.clients.push_back(image.clients[0]); });
  refuse([](Image& image) { image.clients.erase(image.clients.begin()); });
}

// Applying what take_dirty_rows() names, call by call, yields the ledger's rows.
TEST_F(LedgerRestored, DirtyRowsNameEverythingThatIsDifferent) {
  restart();
  Image written = image_of(ledger);
  const auto same = [&](const char* when) {
    const DirtyRows changes = ledger.take_dirty_rows();
    Image now_rows = image_of(ledger);
    const auto find = [](auto& rows, auto name_of, const auto& name) {
      return std::find_if(rows.begin(), rows.end(),
                          [&](const auto& row) { return name_of(row) == name; });
    };
    const auto keep = [&](auto& old_rows, auto& new_rows, const auto& changed, auto name_of) {
      for (const auto& row : new_rows) {
        if (changed.contains(name_of(row))) continue;
        EXPECT_NE(find(old_rows, name_of, name_of(row)), old_rows.end()) << when << ": a new row";
      }
      for (const auto& row : old_rows) {
        if (changed.contains(name_of(row))) continue;
        EXPECT_NE(find(new_rows, name_of, name_of(row)), new_rows.end()) << when << ": a lost row";
      }
    };
    keep(written.clients, now_rows.clients, changes.clients,
         [](const auto& r) { return r.info.id; });
    for (const ClientRow& row : now_rows.clients) {
      const auto old = find(
          written.clients, [](const auto& r) { return r.info.id; }, row.info.id);
      if (old == written.clients.end() || changes.clients.contains(row.info.id)) continue;
      EXPECT_EQ(old->draining, row.draining) << when;
    }
    keep(written.slabs, now_rows.slabs, changes.slabs, [](const auto& r) { return r.id; });
    keep(written.reclaims, now_rows.reclaims, changes.reclaims, [](const auto& r) { return r.id; });
    keep(written.pairs, now_rows.pairs, changes.pairs, [](const auto& r) { return r.consumer; });
    for (const Slab& row : now_rows.slabs) {
      const auto old = find(
          written.slabs, [](const auto& r) { return r.id; }, row.id);
      if (old == written.slabs.end() || changes.slabs.contains(row.id)) continue;
      EXPECT_EQ(old->generation, row.generation) << when;
      EXPECT_EQ(old->holder, row.holder) << when;
      EXPECT_EQ(old->reclaim, row.reclaim) << when;
      EXPECT_EQ(old->late, row.late) << when;
    }
    for (const Reclaim& row : now_rows.reclaims) {
      const auto old = find(
          written.reclaims, [](const auto& r) { return r.id; }, row.id);
      if (old == written.reclaims.end() || changes.reclaims.contains(row.id)) continue;
      EXPECT_EQ(old->done, row.done) << when;
      EXPECT_EQ(old->bytes_returned, row.bytes_returned) << when;
    }
    written = std::move(now_rows);
  };
  join_consumer(2);
  same("joining");
  give_back(consumer, grant);
  same("giving back");
  join_producer(1);
  same("joining as a producer");
  offer(producer, slabs(0, 4));
  same("offering");
  const auto grants = lease(consumer, 3 * kSlab);
  same("leasing");
  reclaim(producer, 3 * kSlab, Time{100});
  same("reclaiming");
  pass(Time{200});
  same("a deadline");
  reclaim(producer, 2 * kSlab, Time{100});
  same("taking over");
  give_back(consumer, grants[0]);
  scrub(grants[0].slab);
  same("scrubbing");
  accepted(ledger.unpair(consumer));
  same("unpairing");
  accepted(ledger.drain(consumer, true));
  same("draining");
  accepted(ledger.drain(consumer, false));
  same("ending a drain");
  accepted(ledger.dead(producer, now));
  same("dying");
  accepted(ledger.renew(consumer, now));
  EXPECT_FALSE(ledger.has_dirty_rows()) << "a renewal is no change";
}

}  // namespace
}  // namespace aqua::ledger::test
