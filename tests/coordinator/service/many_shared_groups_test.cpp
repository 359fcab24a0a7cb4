// SPDX-License-Identifier: Apache-2.0
// More groups than are written at once: no change is of more, and all are written in the end.
#include <gtest/gtest.h>

#include <set>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tests/coordinator/service/shared_groups_world.hpp"

namespace aqua::coordinator::testing {
namespace {

struct ManySharedGroups : SharedGroupService {
  // Of b, each in fifteen of two hundred groups.
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
  EXPECT_GT(shelf.most_at_once, 64U);
  EXPECT_LE(shelf.most_at_once, 96U);
}

TEST_F(ManySharedGroups, DeathsAreWrittenBeforeWhatIsAskedWhereTheyAreMany) {
  for (const ClientId& client : members_of_many_groups()) {
    (void)b.ledger.with(
        [&](ledger::Ledger& book, ledger::Time now) { return book.dead(client, now); });
    b.service.gone(client);
  }
  join(b, zero);
  EXPECT_EQ(shelf.groups.size(), 1U);
  EXPECT_GT(shelf.most_at_once, 64U);
  EXPECT_LE(shelf.most_at_once, 96U);
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
  EXPECT_LE(shelf.most_at_once, 96U);
}

}  // namespace
}  // namespace aqua::coordinator::testing
