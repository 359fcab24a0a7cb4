// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/stream/intake.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace aqua::kv_stream {
namespace {

using Numbers = std::vector<std::uint64_t>;

const std::vector<std::vector<std::uint32_t>> kSources{{5, 0, 2}, {1}, {}};

StreamPart part(std::uint64_t parcel, std::uint32_t source, std::uint32_t attempt = 1) {
  return {.sequence = 7, .attempt = attempt, .source = source, .tokens = 20, .parcel = parcel};
}

class AnIntake : public ::testing::Test {
 protected:
  void refused(const StreamPart& wrong, Code code) {
    const Intake before = intake_;
    const auto added = intake_.add(wrong);
    ASSERT_FALSE(added.ok());
    EXPECT_EQ(added.error().code, code);
    EXPECT_EQ(intake_, before);
  }
  Intake intake_{kSources};
};

TEST_F(AnIntake, HasASequenceOnceEachRankHasDelivered) {
  EXPECT_EQ(intake_.add(part(1, 2)).value(), Numbers{});
  EXPECT_EQ(intake_.add(part(2, 5)).value(), Numbers{});
  EXPECT_EQ(intake_.take_complete(), Numbers{});
  EXPECT_EQ(intake_.add(part(3, 0)).value(), Numbers{});
  EXPECT_EQ(intake_.take_complete(), Numbers{7});
  EXPECT_EQ(intake_.take_complete(), Numbers{}) << "told once";
  EXPECT_EQ(intake_.sequence_of(2), 7U);
  EXPECT_EQ(intake_.drop(7), (Numbers{3, 1, 2})) << "by rank";
  EXPECT_EQ(intake_.find(7), nullptr);
  EXPECT_EQ(intake_.sequence_of(2), std::nullopt);
  EXPECT_EQ(intake_.drop(7), Numbers{});
}

TEST_F(AnIntake, GivesUpWhatComesOfAnAttemptThatIsCutOffAndOfNoOther) {
  (void)intake_.add(part(1, 2, 2)).value();
  EXPECT_EQ(intake_.cut_off(0, 7, 2), Numbers{1});
  EXPECT_EQ(intake_.cut_off(0, 7, 2), std::nullopt) << "it is known";
  EXPECT_EQ(intake_.add(part(2, 5, 2)).value(), Numbers{2});
  EXPECT_EQ(intake_.find(7), nullptr);
  EXPECT_EQ(intake_.cut_off(1, 7, 3), Numbers{}) << "of another group";
  for (const std::uint32_t source : {0U, 2U, 5U})
    EXPECT_EQ(intake_.add(part(10 + source, source, 3)).value(), Numbers{});
  EXPECT_EQ(intake_.take_complete(), Numbers{7});
  EXPECT_EQ(intake_.cut_off(0, 7, 3), std::nullopt) << "it has come";
  EXPECT_EQ(intake_.cut_off(0, 7, 1), std::nullopt) << "a later one has";
}

TEST_F(AnIntake, RemembersSoManyThatAreCutOff) {
  for (std::uint64_t sequence = 0; sequence <= Intake::kMostCutOff; ++sequence)
    EXPECT_EQ(intake_.cut_off(0, sequence, 1), Numbers{});
  EXPECT_EQ(intake_.cut_off(0, 1, 1), std::nullopt);
  EXPECT_EQ(intake_.cut_off(0, 0, 1), Numbers{}) << "the oldest is forgotten";
}

TEST_F(AnIntake, GivesUpAnEarlierAttemptForALaterOne) {
  for (const std::uint32_t source : {0U, 2U, 5U})
    (void)intake_.add(part(10 + source, source)).value();
  EXPECT_EQ(intake_.take_complete(), Numbers{7});
  EXPECT_EQ(intake_.add(part(20, 2, 2)).value(), (Numbers{10, 12, 15}));
  EXPECT_EQ(intake_.add(part(16, 5, 1)).value(), Numbers{16}) << "a straggler of the first";
  EXPECT_EQ(intake_.take_complete(), Numbers{});
  (void)intake_.add(part(21, 0, 2)).value();
  (void)intake_.add(part(22, 5, 2)).value();
  EXPECT_EQ(intake_.take_complete(), Numbers{7}) << "told of each attempt";
}

TEST_F(AnIntake, KnowsWhatItHasNotToldOf) {
  (void)intake_.add(part(1, 2)).value();
  StreamPart other = part(2, 1);
  other.sequence = 3;
  other.group = 1;
  (void)intake_.add(other).value();
  EXPECT_EQ(intake_.untold(), (Numbers{3, 7})) << "complete or not";
  EXPECT_EQ(intake_.take_complete(), Numbers{3});
  EXPECT_EQ(intake_.untold(), Numbers{7});
  other.attempt = 2;
  other.parcel = 4;
  EXPECT_EQ(intake_.add(other).value(), Numbers{2});
  EXPECT_EQ(intake_.untold(), (Numbers{3, 7})) << "not of this attempt";
}

TEST_F(AnIntake, TakesALaterAttemptOfAnotherGroup) {
  (void)intake_.add(part(1, 2)).value();
  StreamPart other = part(2, 1, 2);
  other.group = 1;
  EXPECT_EQ(intake_.add(other).value(), Numbers{1});
  EXPECT_EQ(intake_.take_complete(), Numbers{7});
}

TEST_F(AnIntake, RefusesWhatDoesNotBelongTogetherAndChangesNothing) {
  (void)intake_.add(part(1, 2)).value();
  refused(part(2, 1), Code::invalid_argument);  // no rank that sends here
  StreamPart wrong = part(2, 0);
  wrong.group = 2;  // it sends nothing
  refused(wrong, Code::invalid_argument);
  wrong.group = 3;  // no such group
  refused(wrong, Code::invalid_argument);
  wrong = part(2, 0);
  wrong.tokens = 0;
  refused(wrong, Code::invalid_argument);
  wrong.tokens = 21;
  refused(wrong, Code::invalid_argument);
  wrong = part(2, 0);
  wrong.words = "others";
  refused(wrong, Code::invalid_argument);
  refused(part(2, 2), Code::already_exists);
  wrong = part(2, 1);
  wrong.group = 1;
  refused(wrong, Code::already_exists);
}

// Straight from the contract: all that has been said, and of each sequence the highest attempt.
class NaiveIntake {
 public:
  // What is complete after all of it.
  [[nodiscard]] Numbers complete() const {
    Numbers all;
    for (std::uint64_t sequence = 0; sequence < 3; ++sequence) {
      std::uint32_t attempt = 0;
      for (const StreamPart& each : said_)
        if (each.sequence == sequence) attempt = std::max(attempt, each.attempt);
      const auto delivered = [&](std::uint32_t source) {
        return std::ranges::any_of(said_, [&](const StreamPart& each) {
          return each.sequence == sequence && each.attempt == attempt && each.source == source;
        });
      };
      if (attempt > 0 && std::ranges::all_of(kSources[0], delivered)) all.push_back(sequence);
    }
    return all;
  }
  std::vector<StreamPart> said_{};
};

TEST(Intake, InAnyOrderTheHighestAttemptCounts) {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 2000; ++round) {
    Intake intake(kSources);
    NaiveIntake naive;
    std::vector<StreamPart> parts;
    for (std::uint64_t sequence = 0; sequence < 3; ++sequence) {
      for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
        for (const std::uint32_t source : kSources[0]) {
          StreamPart each = part(parts.size(), source, attempt);
          each.sequence = sequence;
          if (random() % 4 != 0) parts.push_back(each);
        }
      }
    }
    std::ranges::shuffle(parts, random);
    Numbers given_up, kept;
    for (const StreamPart& each : parts) {
      const auto useless = intake.add(each).value();
      given_up.insert(given_up.end(), useless.begin(), useless.end());
      naive.said_.push_back(each);
    }
    ASSERT_EQ(intake.take_complete(), naive.complete()) << "round " << round;
    // Each parcel is given up once, or kept.
    for (std::uint64_t sequence = 0; sequence < 3; ++sequence) {
      const Numbers theirs = intake.drop(sequence);
      kept.insert(kept.end(), theirs.begin(), theirs.end());
    }
    given_up.insert(given_up.end(), kept.begin(), kept.end());
    std::ranges::sort(given_up);
    Numbers all;
    for (const StreamPart& each : parts) all.push_back(each.parcel);
    std::ranges::sort(all);
    ASSERT_EQ(given_up, all) << "round " << round;
  }
}

}  // namespace
}  // namespace aqua::kv_stream
