// SPDX-License-Identifier: Apache-2.0
// More groups than are written at once: no change is of more, and all are written in the end.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tests/coordinator/service/shared_groups_world.hpp"

namespace aqua::coordinator::test {
namespace {

struct ManySharedGroups : SharedGroupService {
  // Makes clients of b, each in fifteen of two hundred groups.
  std::set<ClientId> members_of_many_groups() {
    std::set<ClientId> members;
    ClientId client;
    for (int i = 0; i < 200; ++i) {
      if (i % 15 == 0) client = b.client();
      const groups::Caller caller{client, i < 100 ? kUser : kUser + 1, "b"};
      const auto one_more = random_id<groups::GroupTag>();
      accepted(b, [&](Book& book) -> Result<void> {
        AQUA_TRY(book.create(one_more, concat("g", i), {.prefill = {}, .decode = {1, 1}}, shape,
                             caller));
        return book.join(one_more, caller, {"engine", shape, zero});
      });
      members.insert(client);
    }
    a.sync(shelf.present);
    shelf.most_at_once = 0;
    return members;
  }
};

TEST_F(ManySharedGroups, NoChangeIsOfMoreGroupsThanAreWrittenAtOnce) {
  const std::set<ClientId> members = members_of_many_groups();
  shelf.present = {"a"};
  a.sync(shelf.present);  // the server that has them all is gone
  EXPECT_EQ(shelf.groups.size(), 1U);
  EXPECT_EQ(shelf.most_at_once, kMostGroupsAtOnce);
}

TEST_F(ManySharedGroups, DeathsAreWrittenBeforeWhatIsAskedWhereTheyAreMany) {
  for (const ClientId& client : members_of_many_groups()) {
    (void)b.ledger.with(
        [&](ledger::Ledger& book, ledger::Time now) { return book.dead(client, now); });
    b.service.gone(client);
  }
  join(b, zero);
  EXPECT_EQ(shelf.groups.size(), 1U);
  EXPECT_EQ(shelf.most_at_once, kMostGroupsAtOnce);
}

TEST_F(ManySharedGroups, AsManyAsThereAreAreEndedWhereTheyAreAsTheyOnceWere) {
  members_of_many_groups();
  auto backup = shelf.groups;
  for (auto& [each, group] : backup) {
    if (each != id) --group.version;
  }
  shelf.groups = backup;
  ++shelf.written;
  a.sync(shelf.present);
  EXPECT_EQ(shelf.groups.size(), 1U);
  EXPECT_EQ(shelf.most_at_once, kMostGroupsAtOnce);
}

// A member of four groups, of which two have as many marks as are written at once.
TEST_F(ManySharedGroups, NoChangeIsOfMoreBytesThanAreWrittenAtOnce) {
  const ClientId member = join(b, zero);
  const groups::Caller caller{member, kUser, "b"};
  for (int i = 0; i < 3; ++i) {
    const auto other = random_id<groups::GroupTag>();
    accepted(b, [&](Book& book) -> Result<void> {
      AQUA_TRY(
          book.create(other, concat("g", i), {.prefill = {}, .decode = {2, 1}}, shape, caller));
      return book.join(other, caller, {"engine", shape, zero});
    });
  }
  for (auto& [each, group] : shelf.groups) {
    ++group.version;
    group.state = State::waiting;
    groups::Member& seat = group.members.at(member);
    seat.acknowledged = true;
    for (std::uint64_t sequence = 0; sequence < 4096; ++sequence)
      seat.marks.push_back({zero, sequence, 1});
  }
  ++shelf.written;
  shelf.most_at_once = 0;
  (void)b.ledger.with(
      [&](ledger::Ledger& book, ledger::Time now) { return book.dead(member, now); });
  b.sync(shelf.present);
  for (const auto& [each, group] : shelf.groups)
    EXPECT_TRUE(group.members.empty() || group.members.at(member).silent);
  EXPECT_EQ(shelf.most_at_once, 2U);
}

}  // namespace
}  // namespace aqua::coordinator::test
