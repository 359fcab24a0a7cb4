// SPDX-License-Identifier: Apache-2.0
// docs/internals/ledger.md, src/ledger/transition.cpp and what Ledger does are the same table.
#include <algorithm>

#include "tests/ledger/world.hpp"
#include "tests/page_table.hpp"

namespace aqua::ledger::test {
namespace {

// "leased", "*not_found*", "leased / revoking": as written in the document.
std::string cell_text(SlabState state, SlabEvent event) {
  const auto one = [](const Outcome& o) {
    return o.accepted ? std::string(to_string(o.next)) : concat("*", to_string(o.refusal), "*");
  };
  const std::string plain = one(transition(state, event, false));
  const std::string wanted = one(transition(state, event, true));
  return plain == wanted ? plain : concat(plain, " / ", wanted);
}

TEST(LedgerTable, DocumentAndCodeAgreeInEveryCell) {
  const auto rows = aqua::test::page_table(AQUA_LEDGER_DOC, "| event | offered |");
  ASSERT_EQ(rows.size(), kSlabEvents.size() + 2) << "header, rule, one row an event";
  ASSERT_EQ(rows[0].size(), kSlabStates.size() + 1);
  for (std::size_t s = 0; s < kSlabStates.size(); ++s) {
    EXPECT_EQ(rows[0][s + 1], to_string(kSlabStates[s]));
  }
  for (std::size_t e = 0; e < kSlabEvents.size(); ++e) {
    const auto& row = rows[e + 2];
    ASSERT_EQ(row.size(), kSlabStates.size() + 1) << to_string(kSlabEvents[e]);
    EXPECT_EQ(row[0], to_string(kSlabEvents[e]));
    for (std::size_t s = 0; s < kSlabStates.size(); ++s) {
      EXPECT_EQ(row[s + 1], cell_text(kSlabStates[s], kSlabEvents[e]))
          << to_string(kSlabEvents[e]) << " x " << to_string(kSlabStates[s]);
    }
  }
}

// Brings one slab into each state and lets each event happen to it through Ledger.
struct TableCase {
  SlabState state;
  bool wanted;
  SlabEvent event;
};

void PrintTo(const TableCase& c, std::ostream* out) {
  *out << to_string(c.state) << (c.wanted ? "_wanted_" : "_") << to_string(c.event);
}

class LedgerCell : public World, public ::testing::WithParamInterface<TableCase> {
 protected:
  LedgerCell() : World(Limits{.share_producers = true}) {
    producer = join_producer(1);
    holder = join_consumer(2);
    other = join_consumer(3);
    slab = {producer, 7};
  }

  void bring(SlabState state, bool wanted) {
    if (state == SlabState::returned) return;
    offer(producer, slabs(7, 1));
    if (state == SlabState::offered) return;
    lease(holder, 1);
    if (wanted) reclaim(producer, 1, Time{1000});
    if (state == SlabState::suspect) accepted(ledger.suspect(holder, now));
    if (state == SlabState::orphaned) accepted(ledger.dead(producer, now));
    if (state == SlabState::quarantined) accepted(ledger.give_back(holder, slab, 1, now));
  }

  Result<void> happen(SlabEvent event) {
    const auto plain = [](auto result) -> Result<void> {
      if (!result.ok()) return std::move(result).error();
      return {};
    };
    OfferedSlab declared = slabs(7, 1).front();
    switch (event) {
      case SlabEvent::offer:
        return ledger.offer(producer, {declared}, now);
      case SlabEvent::redeclare:
        declared.holder = holder;
        return ledger.offer(producer, {declared}, now);
      case SlabEvent::withdraw:
        return ledger.withdraw(producer, {7}, now);
      case SlabEvent::grant:
        return plain(ledger.lease(other, kSlab, kPlenty, now));
      case SlabEvent::renew:
        return ledger.renew(holder, now);
      case SlabEvent::silence:
        return ledger.suspect(holder, now);
      case SlabEvent::reclaim:
        return plain(ledger.reclaim(producer, 1, now + Time{1}, now));
      case SlabEvent::give_back:
        return ledger.give_back(holder, slab, 1, now);
      case SlabEvent::holder_dead:
        return ledger.dead(holder, now);
      case SlabEvent::producer_dead:
        return ledger.dead(producer, now);
      case SlabEvent::scrub:
        return plain(ledger.scrubbed(producer, 7, 1, secret(2), now));
    }
    return Error{Code::internal, "no such event"};
  }

  ClientId producer, holder, other;
  SlabId slab;
};

TEST_P(LedgerCell, DoesWhatTheTableSays) {
  const SlabState from = GetParam().state;
  const bool wanted = GetParam().wanted;
  const SlabEvent event = GetParam().event;
  bring(from, wanted);
  ASSERT_EQ(state(slab), to_string(from));
  const Outcome expected = transition(from, event, wanted);
  if (!expected.accepted) return refused(expected.refusal, [&] { return happen(event); });
  const bool scrub = event == SlabEvent::scrub;
  accepted(happen(event));
  EXPECT_EQ(state(slab), to_string(expected.next));
  if (!ledger.slabs().contains(slab)) return;
  const Slab& row = ledger.slabs().at(slab);
  EXPECT_EQ(row.generation, scrub ? 2u : 1u) << "only a scrub changes hands";
  EXPECT_EQ(row.secret, scrub ? secret(2) : secret(7));
  EXPECT_EQ(row.holder.has_value(), is_held(row.state));
}

std::vector<TableCase> all_cases() {
  std::vector<TableCase> cases;
  for (const SlabState state : kSlabStates) {
    const bool can_be_wanted = state == SlabState::suspect || state == SlabState::quarantined;
    for (const SlabEvent event : kSlabEvents) {
      cases.push_back({state, state == SlabState::revoking, event});
      if (can_be_wanted) cases.push_back({state, true, event});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Every, LedgerCell, ::testing::ValuesIn(all_cases()),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace aqua::ledger::test
