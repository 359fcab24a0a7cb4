// SPDX-License-Identifier: Apache-2.0
// SegmentBook and the naive record, call by call: in every state that two members can reach with
// one segment, and in random lives of four.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/parcel/naive_segments.hpp"

namespace aqua {
namespace {

constexpr SegmentQuota kQuota{.bytes = 40, .of_user = 30, .of_process = 20, .segments = 5};

// The record and the naive one, which have to say the same.
struct SegmentTwins {
  template <typename T>
  static void same(const Result<T>& said, const std::optional<Code>& expected) {
    ASSERT_EQ(said.ok(), !expected) << (said.ok() ? "" : said.error().message);
    if (!said.ok()) {
      ASSERT_EQ(said.error().code, *expected) << said.error().message;
    }
  }
  void ended(const SegmentNumbers& said) { ASSERT_EQ(said, naive.sweep()) << naive.text(); }
  void ended(const Result<SegmentNumbers>& said, const std::optional<Code>& expected) {
    same(said, expected);
    if (said.ok()) ended(*said);
  }

  void join(std::uint64_t m) {
    const SegmentOwner owner{.user = static_cast<std::uint32_t>(m / 3), .process = m / 2};
    same(book.join(m, owner), naive.join(m, owner));
  }
  void reserve(std::uint64_t m, std::uint64_t bytes) {
    const auto number = book.reserve(m, bytes);
    same(number, naive.reserve(m, bytes, number.ok() ? *number : 0));
  }
  void commit(std::uint64_t m, SegmentNumber number, std::uint64_t parcel, std::uint64_t bytes) {
    const auto generation = book.commit(m, number, parcel, bytes, {});
    same(generation, naive.commit(m, number, parcel, bytes));
    if (generation.ok()) {
      ASSERT_EQ(*generation, naive.generation(number));
    }
  }
  void open(std::uint64_t m, SegmentNumber number, std::uint64_t generation) {
    same(book.open(m, number, generation), naive.open(m, number, generation));
  }
  void close(std::uint64_t m, SegmentNumber number) {
    const auto said = book.close(m, number);
    ended(said, naive.close(m, number));
  }
  void drop(SegmentNumber number, std::uint64_t generation) {
    const auto said = book.drop(number, generation);
    ended(said, naive.drop(number, generation));
  }
  void give_up(std::uint64_t m, SegmentNumber number) {
    const auto said = book.give_up(m, number);
    ended(said, naive.give_up(m, number));
  }
  void end_parcel(std::uint64_t parcel) {
    naive.end_parcel(parcel);
    ended(book.end_parcel(parcel));
  }
  void gone(std::uint64_t m) {
    naive.gone(m);
    ended(book.gone(m));
  }
  void end(std::uint64_t m) {
    naive.end(m);
    ended(book.end(m));
  }
  void take_returned(std::uint64_t m, std::size_t most) {
    SegmentNumbers expected;
    const auto said = book.take_returned(m, most);
    same(said, naive.take_returned(m, most, expected));
    if (said.ok()) {
      ASSERT_EQ(*said, expected);
    }
  }
  void compare() const {
    ASSERT_EQ(book.counts(), naive.counts()) << naive.text();
    for (const std::uint64_t m : {1U, 2U, 3U, 4U}) {
      ASSERT_EQ(book.returned_to().contains(m), naive.has_returned(m)) << naive.text();
      ASSERT_EQ(book.reads(m), naive.reads_any(m)) << naive.text();
    }
  }

  SegmentBook book{kQuota};
  NaiveSegments naive{kQuota};
};

using SegmentStep = std::function<void(SegmentTwins&)>;

// All that two members can do, with at most this many segments.
std::vector<SegmentStep> segment_steps_from(const SegmentTwins& twins, std::size_t segments) {
  std::vector<SegmentStep> steps;
  for (const std::uint64_t m : {1U, 2U}) {
    steps.push_back([m](SegmentTwins& t) { t.join(m); });
    steps.push_back([m](SegmentTwins& t) { t.gone(m); });
    steps.push_back([m](SegmentTwins& t) { t.end(m); });
    steps.push_back([m](SegmentTwins& t) { t.take_returned(m, 1); });
    if (twins.naive.numbers().size() < segments) {
      steps.push_back([m](SegmentTwins& t) { t.reserve(m, 10); });
    }
  }
  steps.push_back([](SegmentTwins& t) { t.end_parcel(7); });
  for (const SegmentNumber number : twins.naive.numbers()) {
    const std::uint64_t now = twins.naive.generation(number);
    for (const std::uint64_t generation : {now, now - 1, now + 1}) {
      steps.push_back([=](SegmentTwins& t) { t.drop(number, generation); });
    }
    for (const std::uint64_t m : {1U, 2U}) {
      steps.push_back([=](SegmentTwins& t) { t.commit(m, number, 0, 10); });
      steps.push_back([=](SegmentTwins& t) { t.commit(m, number, 7, 5); });
      steps.push_back([=](SegmentTwins& t) { t.commit(m, number, 0, 11); });
      steps.push_back([=](SegmentTwins& t) { t.open(m, number, now); });
      steps.push_back([=](SegmentTwins& t) { t.close(m, number); });
      steps.push_back([=](SegmentTwins& t) { t.give_up(m, number); });
    }
  }
  return steps;
}

TEST(SegmentTwins, EveryStateThatTwoMembersCanReachIsTheNaiveOnes) {
  std::set<std::string> seen;
  std::deque<SegmentTwins> open(1);
  while (!open.empty()) {
    const SegmentTwins at = std::move(open.front());
    open.pop_front();
    for (const SegmentStep& step : segment_steps_from(at, 2)) {
      SegmentTwins next = at;
      step(next);
      next.compare();
      if (HasFatalFailure()) FAIL() << "from " << at.naive.text() << " to " << next.naive.text();
      if (seen.insert(next.naive.text()).second) open.push_back(std::move(next));
    }
  }
  RecordProperty("states", static_cast<int>(seen.size()));
  EXPECT_GT(seen.size(), 500U) << "the search has ended before it began";
}

TEST(SegmentTwins, RandomCallsOfFourMembersSayWhatTheNaiveOneSays) {
  std::mt19937_64 random(11);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int life = 0; life < 200; ++life) {
    SegmentTwins twins;
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t m = 1 + below(4);
      const SegmentNumbers numbers = twins.naive.numbers();
      const SegmentNumber number =
          numbers.empty() || below(20) == 0 ? below(9) : numbers[below(numbers.size())];
      const std::uint64_t generation = twins.naive.generation(number) - (below(8) == 0 ? 1 : 0);
      switch (below(12)) {
        case 0:
          twins.join(m);
          break;
        case 1:
        case 2:
          twins.reserve(m, below(15));
          break;
        case 3:
        case 4:
          twins.commit(m, number, below(3), below(15));
          break;
        case 5:
          twins.open(m, number, generation);
          break;
        case 6:
          twins.close(m, number);
          break;
        case 7:
          twins.drop(number, generation);
          break;
        case 8:
          twins.take_returned(m, below(3));
          break;
        case 9:
          twins.end_parcel(below(3));
          break;
        case 10:
          twins.give_up(m, number);
          break;
        default:
          below(3) == 0 ? twins.end(m) : below(2) == 0 ? twins.gone(m) : twins.join(m);
      }
      twins.compare();
      if (HasFatalFailure()) FAIL() << "life " << life << ", call " << i;
    }
    for (std::uint64_t m = 1; m <= 4; ++m) twins.end(m);
    twins.end_parcel(1);
    twins.end_parcel(2);
    for (const SegmentNumber number : twins.naive.numbers()) {
      twins.drop(number, twins.naive.generation(number));
    }
    if (HasFatalFailure()) FAIL() << "life " << life << " at its end";
    ASSERT_EQ(twins.book.counts(), SegmentCounts{}) << "something is left";
  }
}

}  // namespace
}  // namespace aqua
