// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/replica/replica_book.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/systems/kv_stream/replica/naive_book.hpp"

namespace aqua::kv_stream {
namespace {

constexpr std::uint32_t kLag = 3;

std::vector<SequenceSpan> one_by_one(const std::vector<SequenceSpan>& spans) {
  std::vector<SequenceSpan> all;
  for (const auto& [sequence, span] : spans) {
    for (std::uint32_t i = span.first; i < span.end; ++i) all.push_back({sequence, {i, i + 1}});
  }
  return all;
}

TEST(ReplicaBook, ATokenIsProtectedOnceItsPackIsHeld) {
  ReplicaBook book(kLag);
  book.written(7, 4);
  EXPECT_FALSE(book.is_protected(7)) << "4 are written, 3 may be missing";
  EXPECT_EQ(book.next(7), (TokenSpan{0, 4}));
  book.put(7, {0, 4}, 1);
  EXPECT_TRUE(book.next(7).empty());
  EXPECT_FALSE(book.is_protected(7)) << "what is on its way may still fail";
  book.held(1);
  EXPECT_EQ(book.watermark(7), 4U);
  EXPECT_TRUE(book.is_protected(7));
}

TEST(ReplicaBook, WhatLiesBehindAGapIsNoUseUntilTheGapIsFilled) {
  ReplicaBook book(kLag);
  book.written(7, 8);
  book.put(7, {0, 2}, 1);
  book.put(7, {2, 4}, 2);
  book.put(7, {4, 8}, 3);
  book.held(1);
  book.held(3);
  book.failed(2);
  EXPECT_EQ(book.watermark(7), 2U);
  EXPECT_EQ(book.next(7), (TokenSpan{2, 4}));
  book.put(7, {2, 4}, 4);
  book.held(4);
  EXPECT_EQ(book.watermark(7), 8U);
}

TEST(ReplicaBook, APackIsDeadOnceAllOfItIsElsewhereOrEnded) {
  ReplicaBook book(kLag);
  book.written(7, 4);
  book.written(8, 4);
  book.put(7, {0, 4}, 1);
  book.put(8, {0, 4}, 1);
  book.held(1);
  book.finish(8);
  EXPECT_TRUE(book.take_dead().empty());
  EXPECT_EQ(book.live(1), (std::vector<SequenceSpan>{{7, {0, 4}}}));
  book.put(7, {0, 4}, 2);
  EXPECT_TRUE(book.live(1).empty()) << "it is on its way to another pack";
  EXPECT_TRUE(book.take_dead().empty()) << "which its holder does not have yet";
  book.held(2);
  EXPECT_EQ(book.take_dead(), std::vector<PackId>{1});
  EXPECT_EQ(book.watermark(7), 4U);
}

TEST(ReplicaBook, WhatIsCutIsNotHeldWhenItsPackArrives) {
  ReplicaBook book(kLag);
  book.written(7, 10);
  book.put(7, {0, 10}, 1);
  book.cut(7, 6);
  book.written(7, 9);
  book.held(1);
  EXPECT_EQ(book.watermark(7), 6U);
  EXPECT_EQ(book.next(7), (TokenSpan{6, 9}));
}

TEST(ReplicaBook, WhatItsHolderHasNoMoreIsSentAgain) {
  ReplicaBook book(kLag);
  book.written(7, 8);
  book.put(7, {0, 4}, 1);
  book.held(1);
  book.put(7, {4, 8}, 2);
  book.held(2);
  book.put(7, {0, 2}, 3);  // to be merged there
  book.failed(1);
  EXPECT_EQ(book.watermark(7), 0U);
  EXPECT_FALSE(book.is_protected(7));
  EXPECT_EQ(book.next(7), (TokenSpan{2, 4})) << "the others are on their way";
  EXPECT_TRUE(book.take_dead().empty()) << "pack 1 is nobody's any more";
  book.held(3);
  book.put(7, {2, 4}, 4);
  book.held(4);
  EXPECT_EQ(book.watermark(7), 8U);
}

class Twins {
 public:
  explicit Twins(unsigned seed) : random_(seed) {}

  void step() {
    const SequenceId sequence = below(4);
    switch (below(9)) {
      case 0:
        both([&](auto& book) { book.finish(sequence); });
        break;
      case 1: {
        const auto to = static_cast<std::uint32_t>(below(20));
        both([&](auto& book) { book.cut(sequence, to); });
        break;
      }
      case 2:
      case 3: {
        const auto tokens = naive_.tokens(sequence) + static_cast<std::uint32_t>(below(4));
        both([&](auto& book) { book.written(sequence, tokens); });
        break;
      }
      case 4:
        send(sequence, naive_.next(sequence));
        break;
      case 5:
        move();
        break;
      case 6:
        lose();
        break;
      default:
        settle();
    }
  }
  void compare() {
    ASSERT_EQ(book_.take_dead(), naive_.take_dead());
    for (SequenceId sequence = 0; sequence < 4; ++sequence) {
      ASSERT_EQ(book_.tokens(sequence), naive_.tokens(sequence));
      ASSERT_EQ(book_.next(sequence), naive_.next(sequence));
      ASSERT_EQ(book_.watermark(sequence), naive_.watermark(sequence));
      ASSERT_EQ(book_.is_protected(sequence), naive_.is_protected(sequence));
    }
    std::vector<PackLoad> loads;
    for (const PackId pack : naive_.packs(/*that_are_held=*/true)) {
      ASSERT_EQ(one_by_one(book_.live(pack)), naive_.live(pack));
      loads.push_back({pack, naive_.live(pack).size()});
    }
    ASSERT_EQ(book_.loads(), loads);
    held_ += loads.size();
  }
  [[nodiscard]] std::size_t held() const { return held_; }

 private:
  [[nodiscard]] std::uint64_t below(std::uint64_t most) { return random_() % most; }
  template <typename Do>
  void both(Do act) {
    act(book_);
    act(naive_);
  }
  // A part of it, in a new pack or in one that is coming.
  void send(SequenceId sequence, TokenSpan span) {
    if (span.empty()) return;
    span.end = span.first + 1 + static_cast<std::uint32_t>(below(span.count()));
    const auto coming = naive_.packs(/*that_are_held=*/false);
    const PackId pack = coming.empty() || below(2) == 0 ? ++last_ : coming[below(coming.size())];
    both([&](auto& book) { book.put(sequence, span, pack); });
  }
  void move() {
    const auto held = naive_.packs(/*that_are_held=*/true);
    if (held.empty()) return;
    const auto live = book_.live(held[below(held.size())]);
    if (live.empty()) return;
    const auto& [sequence, span] = live[below(live.size())];
    send(sequence, span);
  }
  void lose() {
    const auto held = naive_.packs(/*that_are_held=*/true);
    if (held.empty() || below(4) != 0) return;
    const PackId pack = held[below(held.size())];
    both([&](auto& book) { book.failed(pack); });
  }
  void settle() {
    const auto coming = naive_.packs(/*that_are_held=*/false);
    if (coming.empty()) return;
    const PackId pack = coming[below(coming.size())];
    if (below(4) == 0) {
      both([&](auto& book) { book.failed(pack); });
    } else {
      both([&](auto& book) { book.held(pack); });
    }
  }

  std::mt19937 random_;
  ReplicaBook book_{kLag};
  NaiveBook naive_{kLag};
  PackId last_ = 0;
  std::size_t held_ = 0;
};

TEST(ReplicaTwins, AgreeOverRandomHistories) {
  std::size_t held = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    Twins twins(seed);
    for (int step = 0; step < 120; ++step) {
      twins.step();
      ASSERT_NO_FATAL_FAILURE(twins.compare()) << "seed " << seed << ", step " << step;
    }
    held += twins.held();
  }
  EXPECT_GT(held, 10'000U) << "the histories hardly did anything";
}

}  // namespace
}  // namespace aqua::kv_stream
