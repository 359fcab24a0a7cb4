// SPDX-License-Identifier: Apache-2.0
// docs/internals/groups.md and what Book does are the same table, cell by cell.
#include "tests/groups/world.hpp"
#include "tests/page_table.hpp"

namespace aqua::groups::test {
namespace {

constexpr const char* kEvents[] = {
    "create", "join_rank",   "join_standby",        "acknowledge",  "resumed",   "silence",
    "heard",  "member_gone", "member_gone_standby", "standby_gone", "last_gone", "close"};

constexpr std::uint64_t kNewcomer = 10;
constexpr std::uint64_t kStandby = 11;

// Ranks 0 to 2 are clients 1 to 3. Clients with a rank, whatever has happened to them, are found by
// ranked(); `last`: the next of its kind is the last one that is missing.
class GroupCell : public World {
 public:
  explicit GroupCell(State state, bool last) : state_(state), last_(last) {}
  void TestBody() override {}

  // Brings the group into the state, then lets the event happen; what came of it.
  std::string outcome(const std::string& event) {
    bring(event);
    EXPECT_EQ(state(), state_) << event;
    const Result<void> result = call([&] { return happen(event); });
    if (!result.ok()) return concat("*", to_string(result.error().code), "*");
    return std::string(to_string(state()));
  }

 private:
  void bring(const std::string& event) {
    const bool lives = event == "member_gone_standby" && state_ != State::waiting;
    const bool silent_one = event == "heard" || event == "silence" || event == "standby_gone" ||
                            event == "member_gone_standby";
    if (state_ == State::closed) return;
    if (state_ == State::forming) {
      accepted([&] { return create(3); });
      accepted([&] { return join(1, decode(0)); });
      if (last_) accepted([&] { return join(2, decode(1)); });
    } else {
      run(3);
    }
    if (state_ == State::waiting) {
      accepted([&] { return gone(3); });
      if (!last_) accepted([&] { return gone(2); });
    }
    if (state_ == State::sealing || state_ == State::resuming) recover();
    if (lives || silent_one) stand_by(!lives);
  }

  // A standby that is silent, without having been taken before that.
  void stand_by(bool is_silent) {
    if (state_ == State::waiting) {
      // Nobody would stand by here: it is seated, so silence comes first, by a restart.
      accepted([&] { return join(kStandby, std::nullopt); });
      restore_with_standby();
      return;
    }
    accepted([&] { return join(kStandby, std::nullopt); });
    if (is_silent) accepted([&] { return silent(kStandby, true); });
  }

  // The rows as they are, but for the standby, which has not been seated.
  void restore_with_standby() {
    GroupRow row = row_of(group());
    for (MemberRow& member : row.members) {
      if (member.client == client(kStandby)) member.rank.reset();
    }
    row.state = State::waiting;
    auto restored = Book::restore({}, {row});
    ASSERT_TRUE(restored.ok()) << restored.error().message;
    book = *std::move(restored);
    for (const auto& member : row.members) {
      if (member.client != client(kStandby)) book.silent(row.id, member.client, false);
    }
    book.commit();
  }

  // One rank has gone from 3 to 4. Client 1 has not acknowledged or resumed; of the others, all or
  // (unless `last`) only one more have not either.
  void recover() {
    accepted([&] { return gone(3); });
    accepted([&] { return join(4, std::nullopt); });
    EXPECT_EQ(rank_of(4), decode(2));
    if (state_ == State::resuming) {
      for (const std::uint64_t who : {1u, 2u, 4u}) accepted([&] { return acknowledge(who); });
      accepted([&] { return resumed(2); });
      if (last_) accepted([&] { return resumed(4); });
    } else {
      accepted([&] { return acknowledge(2); });
      if (last_) accepted([&] { return acknowledge(4); });
    }
  }

  Result<void> happen(const std::string& event) {
    if (event == "create") return create(3);
    if (event == "join_rank") {
      const auto empty = there() ? group().empty_ranks() : std::vector<Rank>{};
      return join(kNewcomer, empty.empty() ? decode(0) : empty.front());
    }
    if (event == "join_standby") return join(kNewcomer, std::nullopt);
    if (event == "acknowledge") return acknowledge(1);
    if (event == "resumed") return resumed(1);
    if (event == "silence") {
      EXPECT_TRUE(silent(1, true).ok());
      return silent(kStandby, true);
    }
    if (event == "heard") return silent(kStandby, false);
    if (event == "member_gone" || event == "member_gone_standby") {
      const Term before = term();
      EXPECT_TRUE(gone(1).ok());
      EXPECT_TRUE(!there() || term() == before + 1);
      return {};
    }
    if (event == "standby_gone") return gone(kStandby);
    if (event == "last_gone") {
      EXPECT_TRUE(gone(kCreator).ok());
      for (std::uint64_t who = 1; who < 12; ++who) EXPECT_TRUE(gone(who).ok());
      return {};
    }
    EXPECT_EQ(event, "close");
    return book.close(id, caller(kCreator));
  }

  const State state_;
  const bool last_;
};

TEST(GroupTable, DocumentAndCodeAgreeInEveryCell) {
  const auto rows = aqua::test::page_table(AQUA_GROUPS_DOC, "| event | forming |");
  ASSERT_EQ(rows.size(), std::size(kEvents) + 2) << "header, rule, one row an event";
  ASSERT_EQ(rows[0].size(), kStates.size() + 1);
  for (std::size_t s = 0; s < kStates.size(); ++s) EXPECT_EQ(rows[0][s + 1], to_string(kStates[s]));
  for (std::size_t e = 0; e < std::size(kEvents); ++e) {
    const auto& row = rows[e + 2];
    ASSERT_EQ(row.size(), kStates.size() + 1) << kEvents[e];
    EXPECT_EQ(row[0], kEvents[e]);
    for (std::size_t s = 0; s < kStates.size(); ++s) {
      const std::string some = GroupCell(kStates[s], false).outcome(kEvents[e]);
      const std::string last = GroupCell(kStates[s], true).outcome(kEvents[e]);
      EXPECT_EQ(row[s + 1], some == last ? some : concat(some, " / ", last))
          << kEvents[e] << " x " << to_string(kStates[s]);
    }
  }
}

}  // namespace
}  // namespace aqua::groups::test
