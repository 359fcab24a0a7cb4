// SPDX-License-Identifier: Apache-2.0
// Lives of parcels in words, and ParcelBook and the naive record in random ones.
#include "parcel/parcel_book.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "tests/base/code_of.hpp"
#include "tests/parcel/naive_parcels.hpp"

namespace aqua {
namespace {

class Parcels : public ::testing::Test {
 protected:
  static constexpr MemberNumber kPrefill = 1, kDecode = 2, kOther = 3, kSecond = 4;

  Parcels() {
    EXPECT_TRUE(book_.join(kPrefill, "prefill").ok());
    EXPECT_TRUE(book_.join(kSecond, "prefill").ok());
    EXPECT_TRUE(book_.join(kDecode, "decode").ok());
    EXPECT_TRUE(book_.join(kOther, "decode").ok());
  }
  std::uint64_t closed(const std::string& id, std::uint64_t turn = 1) {
    const std::uint64_t number = book_.open(kPrefill, "decode", {id, turn}).value();
    EXPECT_TRUE(book_.close(kPrefill, number, 5, "note").ok());
    return number;
  }
  [[nodiscard]] ParcelState state(std::uint64_t number) const { return book_.find(number)->state; }

  ParcelBook book_;
};

// Each that it takes uses up one, and it says so anew when it has finished it: then no more are
// ever with it, or on their way to it, than it has room for.
TEST_F(Parcels, EachTakeIsATurnOfItsOwn) {
  const std::uint64_t number = closed("a", 4);
  ASSERT_TRUE(book_.accept(kDecode).ok());
  EXPECT_EQ(book_.find(number)->turn, 5U);
  book_.end(kDecode);
  EXPECT_EQ(book_.accept(kOther).value(), number);
  EXPECT_EQ(book_.find(number)->turn, 6U);
  EXPECT_EQ(code_of(book_.open(kPrefill, "decode", {"a", 6})), "aborted");
}

TEST_F(Parcels, AreGivenUnderNoTurnBehindWhichTakesHaveNoRoom) {
  EXPECT_EQ(code_of(book_.open(kPrefill, "decode", {"a", kMostTurn + 1})), "invalid_argument");
  EXPECT_EQ(code_of(book_.reserve(kPrefill, "decode", {"a", UINT64_MAX})), "invalid_argument");
  EXPECT_EQ(book_.size(), 0U);
  const std::uint64_t number = closed("a", kMostTurn);
  ASSERT_EQ(book_.accept(kDecode).value(), number);
  EXPECT_EQ(book_.find(number)->turn, kMostTurn + 1);
  EXPECT_EQ(code_of(book_.open(kDecode, "prefill", {"a", kMostTurn + 2})), "invalid_argument")
      << "handed on";
  EXPECT_EQ(code_of(book_.confirm(kDecode, number)), "ok");
}

TEST_F(Parcels, WhatWasCompleteIsNotLostWithAGiverThatBeganAnew) {
  const std::uint64_t complete = closed("a");
  const std::uint64_t anew = book_.open(kSecond, "decode", {"a", 2}).value();
  EXPECT_EQ(book_.next_for(kDecode), 0U) << "held back";
  EXPECT_EQ(book_.waiting(), 1U);
  EXPECT_EQ(book_.waiting_for(kDecode), 0U);
  book_.end(kSecond);
  EXPECT_EQ(book_.find(anew), nullptr);
  EXPECT_EQ(book_.accept(kDecode).value(), complete);
  EXPECT_EQ(book_.find(complete)->turn, 3U) << "above the one that was seen";
}

TEST_F(Parcels, WaitForWhoMayTakeThemAlone) {
  ASSERT_TRUE(book_.admit(kOther, "prefill", 1).ok());
  const std::uint64_t number = book_.reserve(kPrefill, "decode", {"a", 1}).value();
  ASSERT_TRUE(book_.close(kPrefill, number, 5, "note").ok());
  EXPECT_EQ(book_.waiting_for(kOther), 1U);
  EXPECT_EQ(book_.waiting_for(kDecode), 0U) << "it is promised to another";
  book_.gone(kOther);
  EXPECT_EQ(book_.waiting_for(kDecode), 1U);
  EXPECT_EQ(book_.waiting_for(kOther), 0U);
}

TEST_F(Parcels, ASupersededTakerIsToldOnceAndItsParcelWaitsUnlessItIsReplaced) {
  const std::uint64_t first = closed("a");
  ASSERT_TRUE(book_.accept(kDecode).ok());
  const std::uint64_t second = book_.open(kSecond, "decode", {"a", 3}).value();
  EXPECT_EQ(book_.take_news(kDecode),
            (std::vector<ParcelNews>{{first, ParcelEvent::taken_superseded}}));
  EXPECT_EQ(code_of(book_.confirm(kDecode, first)), "aborted");
  EXPECT_EQ(code_of(book_.open(kDecode, "decode", {"a", 99})), "aborted");
  ASSERT_TRUE(book_.recall(kSecond, second).ok());
  ASSERT_TRUE(book_.finish(kDecode, first).ok());
  EXPECT_EQ(state(first), ParcelState::closed) << "its answers counted no more";
  ASSERT_EQ(book_.accept(kOther).value(), first);
  const std::uint64_t third = book_.open(kSecond, "decode", {"a", 9}).value();
  ASSERT_TRUE(book_.close(kSecond, third, 1, "").ok());
  ASSERT_TRUE(book_.finish(kOther, first).ok());
  EXPECT_EQ(book_.find(first), nullptr);
  EXPECT_EQ(book_.take_news(kPrefill), (std::vector<ParcelNews>{{first, ParcelEvent::superseded}}));
}

TEST_F(Parcels, TheGiverHearsOfTheTakersConfirmationOnce) {
  const std::uint64_t number = closed("a");
  ASSERT_TRUE(book_.accept(kDecode).ok());
  ASSERT_TRUE(book_.confirm(kDecode, number).ok());
  ASSERT_TRUE(book_.confirm(kDecode, number).ok());
  book_.end(kDecode);
  ASSERT_TRUE(book_.accept(kOther).ok());
  ASSERT_TRUE(book_.finish(kOther, number).ok());
  EXPECT_EQ(book_.take_news(kPrefill), (std::vector<ParcelNews>{{number, ParcelEvent::confirmed}}));
}

TEST_F(Parcels, WhoHandsItOnHasConfirmedItByThat) {
  const std::uint64_t first = closed("a");
  ASSERT_TRUE(book_.accept(kDecode).ok());
  const std::uint64_t second = book_.open(kDecode, "prefill", {"a", 3}).value();
  EXPECT_FALSE(book_.has_news(kPrefill));
  ASSERT_TRUE(book_.close(kDecode, second, 6, "").ok());
  EXPECT_EQ(book_.find(first), nullptr);
  EXPECT_EQ(book_.take_news(kPrefill), (std::vector<ParcelNews>{{first, ParcelEvent::confirmed}}));
}

TEST_F(Parcels, TurnsOfIdsThatEndedAreRememberedUpToABound) {
  for (std::size_t i = 0; i <= ParcelBook::kMostEndedIds; ++i) {
    const std::string id = std::to_string(i);
    ASSERT_TRUE(book_.recall(kPrefill, closed(id, 7)).ok());
  }
  EXPECT_EQ(book_.ended_ids(), ParcelBook::kMostEndedIds);
  EXPECT_EQ(code_of(book_.open(kPrefill, "decode", {"1", 7})), "aborted");
  EXPECT_EQ(code_of(book_.open(kPrefill, "decode", {"0", 7})), "ok") << "the oldest is forgotten";
  EXPECT_EQ(code_of(book_.open(kPrefill, "decode", {"1", 8})), "ok");
  EXPECT_EQ(book_.ended_ids(), ParcelBook::kMostEndedIds - 1) << "it has not ended any more";
}

TEST_F(Parcels, AGiverThatDoesNotListenIsToldInPartsAndBeginsNothingMore) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t turn = 1; turn <= ParcelBook::kMostNews + 1; ++turn) {
    numbers.push_back(book_.open(kPrefill, "decode", {"r", turn}).value());  // ends the one before
  }
  const ParcelBook before = book_;
  EXPECT_EQ(code_of(book_.open(kPrefill, "decode", {"s", 1})), "resource_exhausted");
  EXPECT_EQ(book_, before);
  EXPECT_TRUE(book_.open(kSecond, "decode", {"s", 1}).ok()) << "others may";
  std::size_t first = 2;
  EXPECT_EQ(book_.take_news(kPrefill, [&](const ParcelNews&) { return first-- > 0; }),
            (std::vector<ParcelNews>{{numbers[0], ParcelEvent::superseded},
                                     {numbers[1], ParcelEvent::superseded}}));
  EXPECT_TRUE(book_.open(kPrefill, "decode", {"t", 1}).ok()) << "it has heard of some";
  EXPECT_EQ(book_.take_news(kPrefill).size(), ParcelBook::kMostNews - 2);
  EXPECT_FALSE(book_.has_news(kPrefill));
}

TEST(ParcelBookTwins, RandomCallsSayWhatTheNaiveOneSays) {
  std::mt19937_64 random(3);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int life = 0; life < 60; ++life) {
    ParcelBook book;
    NaiveParcels naive;
    std::uint64_t last = 0;
    for (int step = 0; step < 600; ++step) {
      const MemberNumber m = 1 + below(5);
      const std::string role = m % 2 == 0 ? "p" : "d";
      const std::string id(1, static_cast<char>('a' + below(3)));
      const ParcelHead head{id, naive.highest(id) + below(3)};
      const std::uint64_t number = last <= 6 ? below(8) : last - below(7);
      std::string said = "ok";
      std::optional<Code> expected;
      switch (below(25)) {
        case 0:
          book.gone(m);
          naive.gone(m);
          break;
        case 1:
          book.end(m);
          naive.end(m);
          break;
        case 2:
          said = code_of(book.cancel(id));
          expected = naive.cancel(id);
          break;
        case 3:
          said = code_of(book.join(m, role));
          expected = naive.join(m, role);
          break;
        case 4: {
          const std::uint64_t since = below(1 + naive.highest(id));
          said = code_of(book.resume(m, id, since));
          expected = naive.resume(m, id, since);
          break;
        }
        case 5: {
          const std::uint64_t above = naive.highest(id) + below(3);
          said = code_of(book.renew(m, number, above));
          expected = naive.renew(m, number, above);
          break;
        }
        case 21: {
          const ParcelBook::Courier courier{below(2) == 0 ? "p" : "d", std::string(below(3), 'x')};
          said = code_of(book.join_courier(m, role, courier));
          expected = naive.join(m, role, courier);
          break;
        }
        case 22: {
          const std::uint64_t turn = std::max<std::uint64_t>(1, naive.highest(id) + below(2));
          said = code_of(book.tell_cut_off(m, role, {id, turn}));
          expected = naive.tell_cut_off(m, role, {id, turn});
          break;
        }
        case 6:
        case 7:
        case 8: {
          const auto room = static_cast<std::uint32_t>(below(3));
          const std::string from = below(2) == 0 ? "p" : "d";
          said = code_of(book.admit(m, from, room));
          expected = naive.admit(m, from, room);
          break;
        }
        case 9:
        case 10:
        case 11:
        case 12: {
          const bool reserved = below(2) == 0;
          const std::uint64_t since = reserved ? below(3) : 0;
          const auto begun = reserved ? book.reserve(m, "d", head, since)
                                      : book.open(m, below(4) == 0 ? "p" : "d", head);
          said = code_of(begun);
          const std::string to = begun.ok() ? book.find(*begun)->role : "d";
          expected = naive.begin(m, to, head, reserved, since);
          if (begun.ok()) last = *begun;
          break;
        }
        case 13:
        case 14:
        case 15:
          said = code_of(book.close(m, number, 3, ""));
          expected = naive.close(m, number, 3);
          break;
        case 16:
          said = code_of(book.recall(m, number));
          expected = naive.recall(m, number);
          break;
        case 17:
        case 18:
        case 19:
          said = code_of(book.accept(m));
          expected = naive.accept(m);
          break;
        case 20:
          said = code_of(book.confirm(m, number));
          expected = naive.confirm(m, number);
          break;
        default: {
          const ParcelEvent what = below(2) == 0 ? ParcelEvent::confirmed : ParcelEvent::cancelled;
          said = code_of(book.finish(m, number, what));
          expected = naive.finish(m, number, what);
        }
      }
      ASSERT_EQ(said, expected ? std::string(to_string(*expected)) : "ok")
          << "life " << life << ", step " << step;
      ASSERT_EQ(book.size(), naive.rows().size()) << "life " << life << ", step " << step;
      for (const auto& row : naive.rows()) {
        ASSERT_NE(book.find(row.number), nullptr);
        ASSERT_EQ(*book.find(row.number), row.record) << "life " << life << ", step " << step;
      }
      for (MemberNumber each = 1; each <= 5; ++each) {
        ASSERT_EQ(book.next_for(each), naive.next_for(each));
        auto told = book.take_news(each), to_be = naive.take_news(each);
        const auto order = [](const ParcelNews& a, const ParcelNews& b) {
          return std::tie(a.number, a.event, a.head.id, a.head.turn) <
                 std::tie(b.number, b.event, b.head.id, b.head.turn);
        };
        std::sort(told.begin(), told.end(), order);
        std::sort(to_be.begin(), to_be.end(), order);
        ASSERT_EQ(told, to_be) << "life " << life << ", step " << step << ", member " << each;
      }
    }
  }
}

}  // namespace
}  // namespace aqua
