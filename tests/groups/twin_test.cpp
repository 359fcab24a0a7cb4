// SPDX-License-Identifier: Apache-2.0
// Random histories: the book and a naive second implementation agree in every field, refused calls
// change nothing, no rank ever has two members in one term, and what was written down makes the
// same group again.
#include "tests/groups/twin.hpp"

#include <random>

#include "tests/groups/world.hpp"

namespace aqua::groups::test {
namespace {

constexpr std::uint64_t kClients = 9;
const Topology kTopology{.prefill = {.stages = 1, .tensor = 2},
                         .decode = {.stages = 2, .tensor = 1}};
const Limits kLimits{.max_standbys = 2};

class History : public World {
 public:
  explicit History(std::uint32_t seed) : random_(seed), twin_(kTopology, kLimits) {
    book = Book(kLimits);
    accepted([&] { return book.create(id, "chat", kTopology, shape(), caller(kCreator)); });
  }
  void TestBody() override {}

  void step() {
    const std::uint64_t who = 1 + pick(kClients);
    const Term said = term() - (pick(8) == 0 ? 1 : 0) + (pick(16) == 0 ? 1 : 0);
    bool twins = true;
    const Result<void> outcome = call([&]() -> Result<void> {
      switch (pick(10)) {
        case 0:
        case 1: {
          const Rank rank = any_rank();
          twins = twin_.join(client(who), rank);
          return join(who, rank);
        }
        case 2:
          twins = twin_.join(client(who), std::nullopt);
          return join(who, std::nullopt);
        case 3:
          if (pick(2) == 0) return {};  // deaths are rarer than what follows from them
          twins = twin_.gone(client(who));
          if (pick(2) == 0) return book.leave(id, client(who));
          twins = true;
          return gone(who);
        case 4: {
          const bool is_silent = pick(2) == 0;
          twin_.silent(client(who), is_silent);
          return silent(who, is_silent);
        }
        case 5:
        case 6:
        case 7: {
          const auto marks = any_marks();
          twins = twin_.acknowledge(client(who), said, marks);
          return book.acknowledge(id, client(who), said, marks);
        }
        default:
          twins = twin_.resumed(client(who), said);
          return book.resumed(id, client(who), said);
      }
    });
    ASSERT_EQ(outcome.ok(), twins) << (outcome.ok() ? "accepted" : outcome.error().message);
    compare();
    remember_holders();
    restored_is_the_same();
    ++seen_[state()];
  }
  [[nodiscard]] const std::map<State, int>& seen() const { return seen_; }

 private:
  std::uint64_t pick(std::uint64_t n) { return random_() % n; }
  Rank any_rank() {
    const auto ranks = kTopology.ranks();
    return ranks[pick(ranks.size())];
  }
  std::vector<Watermark> any_marks() {
    std::map<std::pair<Rank, std::uint64_t>, std::uint64_t> marks;
    for (std::uint64_t i = pick(6); i > 0; --i) marks[{any_rank(), pick(3)}] = pick(20);
    std::vector<Watermark> all;
    for (const auto& [key, mark] : marks) all.push_back({key.first, key.second, mark});
    std::ranges::shuffle(all, random_);
    return all;
  }

  void compare() {
    ASSERT_EQ(state(), twin_.state());
    ASSERT_EQ(term(), twin_.term());
    ASSERT_EQ(group().plan, twin_.plan());
    ASSERT_EQ(group().members.size(), twin_.members().size());
    for (const Twin::Who& who : twin_.members()) {
      const Member& member = group().members.at(who.client);
      ASSERT_EQ(member.rank, who.rank);
      ASSERT_EQ(member.silent, who.silent);
      ASSERT_EQ(member.acknowledged, twin_.has_acknowledged(who.client));
    }
  }

  void remember_holders() {
    ASSERT_GE(term(), last_term_);
    last_term_ = term();
    for (const auto& [member, row] : group().members) {
      if (!row.rank) continue;
      const auto [known, fresh] = holders_.try_emplace({term(), *row.rank}, member);
      ASSERT_EQ(known->second, member)
          << "two members of " << to_string(*row.rank) << " in term " << term();
    }
  }

  void restored_is_the_same() {
    auto restored = Book::restore(kLimits, {row_of(group())});
    ASSERT_TRUE(restored.ok()) << restored.error().message;
    ASSERT_EQ(restored->check_invariants(), "");
    const Group& again = restored->groups().at(id);
    if (state() == State::resuming) {
      ASSERT_EQ(again.term, term() + 1);
      ASSERT_EQ(again.state, State::sealing);
      ASSERT_EQ(restored->changes().put.size(), 1u);
    } else {
      ASSERT_EQ(row_of(again), row_of(group()));
      ASSERT_TRUE(restored->changes().empty());
    }
  }

  std::mt19937 random_;
  Twin twin_;
  Term last_term_ = 0;
  std::map<std::pair<Term, Rank>, ClientId> holders_;
  std::map<State, int> seen_;
};

TEST(GroupTwins, AgreeOverRandomHistories) {
  std::map<State, int> seen;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    History history(seed);
    for (int i = 0; i < 300; ++i) {
      history.step();
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed << ", step " << i;
    }
    for (const auto& [state, times] : history.seen()) seen[state] += times;
  }
  for (const State state :
       {State::forming, State::running, State::waiting, State::sealing, State::resuming})
    EXPECT_GT(seen[state], 500) << to_string(state) << " was hardly seen";
}

}  // namespace
}  // namespace aqua::groups::test
