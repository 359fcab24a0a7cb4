// SPDX-License-Identifier: Apache-2.0
// PoolBook and the naive record, step by step: in every state that two members can reach, and in
// random lives of four.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "parcel/pool_book.hpp"
#include "tests/base/code_of.hpp"
#include "tests/parcel/naive_pool.hpp"

namespace aqua {
namespace {

constexpr std::uint32_t kBlockTokens = 2;

// The record and the naive one, which have to say the same.
struct PoolTwins {
  explicit PoolTwins(std::uint32_t blocks)
      : book(blocks, kBlockTokens), naive(blocks, kBlockTokens) {}

  template <typename T>
  static void same(const Result<T>& said, const std::optional<Code>& expected) {
    ASSERT_EQ(code_of(said), expected ? std::string(to_string(*expected)) : "ok");
  }
  void join(MemberNumber m, const std::string& role, std::uint32_t quota = 0) {
    same(book.join(m, role, quota), naive.join(m, role, quota));
  }
  void move_quota(const std::string& from, const std::string& to, std::uint32_t blocks) {
    same(book.move_quota(from, to, blocks), naive.move_quota(from, to, blocks));
  }
  void grant(MemberNumber m, std::uint32_t most) {
    Blocks expected;
    const auto granted = book.grant(m, most);
    same(granted, naive.grant(m, most, expected));
    ASSERT_EQ(granted.ok() ? *granted : Blocks(), expected);
  }
  void give_back(MemberNumber m, const Blocks& blocks) {
    same(book.give_back(m, blocks), naive.give_back(m, blocks));
  }
  void share(MemberNumber m, const Blocks& blocks) {
    same(book.share(m, blocks), naive.share(m, blocks));
  }
  void offer(MemberNumber m, const std::string& role, const Parcel& parcel) {
    const auto number = book.offer(m, role, parcel);
    if (number.ok()) last = *number;
    same(number, naive.offer(m, role, parcel, number.ok() ? *number : 0));
  }
  void accept(MemberNumber m) {
    std::vector<Parcel> expected;
    const auto taken = book.accept(m, 1);
    same(taken, naive.accept(m, expected));
    ASSERT_EQ(taken.ok() ? *taken : std::vector<Parcel>(), expected);
  }
  void finish(MemberNumber m, std::uint64_t number) {
    same(book.finish(m, number), naive.finish(m, number));
  }
  void cancel(const std::string& id) { same(book.cancel(id), naive.cancel(id)); }
  void gone(MemberNumber m) {
    book.gone(m);
    naive.gone(m);
  }
  void end(MemberNumber m, bool is_quiet) {
    book.end(m, is_quiet);
    naive.end(m, is_quiet);
  }
  void release_quarantined() { ASSERT_EQ(book.release_quarantined(), naive.release_quarantined()); }
  void compare() const {
    ASSERT_EQ(book.counts(), naive.counts()) << naive.text();
    ASSERT_EQ(book.parcels().waiting(), naive.waiting()) << naive.text();
    for (const char* const role : {"p", "d"}) {
      ASSERT_EQ(book.had_by_role(role), naive.had_by_role(role)) << role << " in " << naive.text();
    }
  }

  PoolBook book;
  NaivePool naive;
  std::uint64_t last = 0;
};

using Step = std::function<void(PoolTwins&)>;

// How far a search goes: it is to end.
struct Bounds {
  std::uint32_t blocks = 1;
  std::size_t holds = 3;    // how often blocks are had, in all
  std::size_t parcels = 2;  // at a time
  bool may_doubt = false;   // whether work may outlast a member
  std::uint32_t quota = 0;  // of their role
};
void PrintTo(const Bounds& bounds, std::ostream* to) {
  *to << bounds.blocks << " blocks, " << bounds.holds << " holds, " << bounds.parcels
      << " parcels, quota " << bounds.quota;
}

// All that two members can do, with one request.
std::vector<Step> steps_from(const PoolTwins& twins, const Bounds& bounds) {
  std::vector<Step> steps;
  std::vector<Blocks> lists{{}};
  for (std::uint32_t b = 0; b < bounds.blocks; ++b) lists.push_back({b});
  if (bounds.blocks > 1) lists.push_back({1, 0});
  steps.push_back([](PoolTwins& t) { t.cancel("r"); });
  steps.push_back([](PoolTwins& t) { t.release_quarantined(); });
  for (const MemberNumber m : {1U, 2U}) {
    steps.push_back([m, q = bounds.quota](PoolTwins& t) { t.join(m, "d", q); });
    steps.push_back([m](PoolTwins& t) { t.grant(m, 1); });
    steps.push_back([m](PoolTwins& t) { t.accept(m); });
    steps.push_back([m](PoolTwins& t) { t.gone(m); });
    for (const bool is_quiet : {false, true}) {
      if (!is_quiet && !bounds.may_doubt) continue;
      steps.push_back([m, is_quiet](PoolTwins& t) { t.end(m, is_quiet); });
    }
    for (const std::uint64_t number : twins.naive.numbers()) {
      steps.push_back([m, number](PoolTwins& t) { t.finish(m, number); });
    }
    for (const Blocks& list : lists) {
      steps.push_back([m, list](PoolTwins& t) { t.give_back(m, list); });
      if (twins.naive.holds() >= bounds.holds) continue;
      steps.push_back([m, list](PoolTwins& t) { t.share(m, list); });
      if (twins.naive.numbers().size() >= bounds.parcels) continue;
      for (const std::uint64_t higher : {0U, 1U}) {
        steps.push_back([m, list, higher](PoolTwins& t) {
          const std::uint64_t turn = t.naive.highest("r") + higher;
          t.offer(m, "d", {.id = "r", .turn = turn, .blocks = list, .tokens = 1});
        });
      }
    }
  }
  return steps;
}

class PoolModel : public ::testing::TestWithParam<Bounds> {};
INSTANTIATE_TEST_SUITE_P(Bounds, PoolModel,
                         ::testing::Values(Bounds{1, 3, 3, true}, Bounds{2, 3, 1}, Bounds{2, 2, 2},
                                           Bounds{2, 3, 1, false, 1}),
                         [](const auto& bounds) {
                           return "Number" + std::to_string(bounds.index);
                         });

TEST_P(PoolModel, EveryStateThatTwoMembersCanReachIsTheNaiveOnes) {
  std::set<std::string> seen;
  std::deque<PoolTwins> open;
  open.emplace_back(GetParam().blocks);
  seen.insert(open.front().naive.text());
  while (!open.empty()) {
    const PoolTwins at = std::move(open.front());
    open.pop_front();
    for (const Step& step : steps_from(at, GetParam())) {
      PoolTwins next = at;
      step(next);
      next.compare();
      if (HasFatalFailure()) FAIL() << "from " << at.naive.text() << " to " << next.naive.text();
      if (seen.insert(next.naive.text()).second) open.push_back(std::move(next));
    }
  }
  RecordProperty("states", static_cast<int>(seen.size()));
  EXPECT_GT(seen.size(), 100U) << "the search has ended before it began";
}

TEST(PoolBookTwins, RandomCallsOfFourMembersSayWhatTheNaiveOneSays) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int life = 0; life < 40; ++life) {
    PoolTwins twins(6);
    for (int step = 0; step < 500; ++step) {
      const MemberNumber m = 1 + below(4);
      Blocks list;
      for (std::uint64_t i = below(4); i > 0; --i)
        list.push_back(static_cast<std::uint32_t>(below(7)));
      const std::string role = below(2) == 0 ? "p" : "d";
      switch (below(20)) {
        case 0:
          twins.gone(m);
          break;
        case 1:
          twins.end(m, below(2) == 0);
          if (below(4) == 0) twins.release_quarantined();
          break;
        case 2:
          twins.cancel(std::string(1, static_cast<char>('a' + below(3))));
          break;
        case 3:
        case 4:
        case 5:
          twins.join(m, role, static_cast<std::uint32_t>(below(3) == 0 ? below(8) : 0));
          if (below(2) == 0) {
            twins.move_quota(role, below(2) == 0 ? "p" : "d", static_cast<std::uint32_t>(below(4)));
          }
          break;
        case 6:
        case 7:
        case 8:
          twins.grant(m, static_cast<std::uint32_t>(below(4)));
          break;
        case 9:
        case 10:
          twins.give_back(m, list);
          break;
        case 11:
        case 12:
          twins.share(m, list);
          break;
        case 13:
        case 14:
        case 15:
          twins.accept(m);
          break;
        case 16:
          twins.finish(m, 1 + below(twins.last + 1));
          break;
        default:
          const std::string id(1, static_cast<char>('a' + below(3)));
          twins.offer(m, role,
                      {.id = id,
                       .turn = twins.naive.highest(id) + below(4),
                       .blocks = list,
                       .tokens = static_cast<std::uint32_t>(below(7))});
      }
      twins.compare();
      if (HasFatalFailure()) FAIL() << "life " << life << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace aqua
