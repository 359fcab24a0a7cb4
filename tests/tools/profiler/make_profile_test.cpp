// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/search/make_profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tools/profiler/synthetic.hpp"

namespace aqua::profiler {
namespace {

using test::Synthetic;

Record fresh() {
  Record record;
  record.profile.complete = false;
  record.evidence.memory = "vllm";
  return record;
}

TEST(MakeProfile, OfAnEngineWithRoomIsAProducer) {
  Synthetic engine(5);
  Record record = fresh();
  std::size_t saved = 0;
  const Hooks hooks{.save = [&](const Record&) {
    ++saved;
    return Result<void>{};
  }};
  ASSERT_TRUE(profile_llm(record, engine, {}, hooks).ok());
  EXPECT_EQ(record.profile.role, ProfileRole::producer);
  EXPECT_DOUBLE_EQ(record.profile.max_rps, 5);
  EXPECT_EQ(record.profile.free_bytes, 20'000'000'000u);
  EXPECT_TRUE(record.profile.complete);
  EXPECT_TRUE(engine.bursts.empty()) << "who can lend wants no swap space";
  EXPECT_EQ(saved, engine.rates.size() + 1);
}

TEST(MakeProfile, OfAFullEngineIsAConsumerWithSpaceForBursts) {
  Synthetic engine(8);
  Record record = fresh();
  ASSERT_TRUE(profile_llm(record, engine, {}, {}).ok());
  EXPECT_EQ(record.profile.role, ProfileRole::consumer);
  EXPECT_EQ(engine.bursts, (std::vector<double>{2, 3}));
  EXPECT_EQ(record.profile.swap_bytes, 56'000'000'000u) << "of the largest burst";
}

TEST(MakeProfile, WithoutBurstsIsNeutral) {
  Synthetic engine(8);
  Record record = fresh();
  ASSERT_TRUE(profile_llm(record, engine, {.bursts = {}}, {}).ok());
  EXPECT_EQ(record.profile.role, ProfileRole::neutral);
}

TEST(MakeProfile, SaysThatNoRateMeetsTheSla) {
  Synthetic engine(0.5);
  Record record = fresh();
  const auto made = profile_llm(record, engine, {}, {});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::failed_precondition);
  EXPECT_NE(made.error().message.find("no rate from 1 to 10"), std::string::npos);
  EXPECT_EQ(record.evidence.reason, made.error().message);
  EXPECT_EQ(record.profile.role, ProfileRole::neutral);
  EXPECT_EQ(record.profile.free_bytes, 0u);
}

TEST(MakeProfile, SaysThatMoreMayBePossible) {
  Synthetic engine(20);
  Record record = fresh();
  ASSERT_TRUE(profile_llm(record, engine, {.bursts = {}}, {}).ok());
  ASSERT_EQ(record.evidence.warnings.size(), 1u);
  EXPECT_NE(record.evidence.warnings.at("range").find("--to"), std::string::npos);
}

TEST(MakeProfile, StoppedAnywhereAndResumedIsTheSame) {
  Synthetic whole(6);
  Record expected = fresh();
  ASSERT_TRUE(profile_llm(expected, whole, {}, {}).ok());
  for (std::size_t death = 1; death <= whole.rates.size(); ++death) {
    Synthetic dies(6);
    dies.dies_at = death;
    Record record = fresh();
    const auto made = profile_llm(record, dies, {}, {});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Code::unavailable);
    EXPECT_FALSE(record.profile.complete);
    Record read = parse_record(render_record(record)).value();
    EXPECT_EQ(read.profile, record.profile);
    Synthetic again(6);
    ASSERT_TRUE(profile_llm(read, again, {}, {}).ok());
    EXPECT_EQ(again.rates.size() + death - 1, whole.rates.size());
    EXPECT_EQ(render_record(read), render_record(expected)) << "died at probe " << death;
  }
}

TEST(MakeProfile, KeepsNothingBeforeAnythingIsMeasured) {
  Synthetic engine(5);
  engine.dies_at = 1;
  Record record = fresh();
  const Hooks hooks{.save = [](const Record&) -> Result<void> {
    ADD_FAILURE() << "a good profile would be overwritten";
    return {};
  }};
  EXPECT_EQ(profile_llm(record, engine, {}, hooks).error().code, Code::unavailable);
}

TEST(MakeProfile, IsOnlyCompleteWithAWholeProbeOfItsRate) {
  for (double truth = 1; truth <= 10; truth += 0.5) {
    Synthetic engine(truth);
    Record record = fresh();
    int complete = 0;
    const Hooks hooks{.save = [&](const Record& saved) {
      if (!saved.profile.complete) return Result<void>{};
      ++complete;
      EXPECT_TRUE(std::ranges::any_of(saved.evidence.probes, [&](const Probe& probe) {
        return probe.whole && probe.met && probe.rate == truth;
      })) << truth;
      return Result<void>{};
    }};
    ASSERT_TRUE(profile_llm(record, engine, {.bursts = {}}, hooks).ok());
    EXPECT_EQ(complete, 1) << "saved as complete at the end alone, " << truth;
    const auto used = static_cast<std::size_t>(truth * 4e9);
    EXPECT_EQ(record.profile.free_bytes, 40'000'000'000u - used) << truth;
  }
}

TEST(MakeProfile, ThatIsNotClearIsNotComplete) {
  Synthetic engine(5);
  engine.changes_at = 4;  // once the range is halved, nothing holds any more
  Record record = fresh();
  const auto made = profile_llm(record, engine, {}, {});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::failed_precondition);
  EXPECT_NE(made.error().message.find("contradict"), std::string::npos) << made.error().message;
  EXPECT_FALSE(record.profile.complete);
  EXPECT_EQ(record.profile.free_bytes, 0u);
}

TEST(MakeProfile, DoesNotGoOnWithAnotherSearch) {
  Synthetic engine(6);
  Record record = fresh();
  ASSERT_TRUE(profile_llm(record, engine, {}, {}).ok());
  const auto made = profile_llm(record, engine, {.range = {.from = 1, .to = 4}}, {});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::invalid_argument);
}

TEST(MakeProfile, DoesNotBelieveFarTooLittleMemory) {
  Synthetic engine(5);
  engine.client_share = 3;
  Record record = fresh();
  ASSERT_TRUE(profile_llm(record, engine, {.bursts = {}}, {}).ok());
  EXPECT_EQ(record.profile.free_bytes, 0u) << "what the client knows to be there counts";
  EXPECT_EQ(record.profile.role, ProfileRole::neutral);
  ASSERT_EQ(record.evidence.warnings.size(), 1u) << "said once, of the answer";
  const std::string& said = record.evidence.warnings.at("memory");
  EXPECT_NE(said.find("not believed"), std::string::npos);
  EXPECT_NE(said.find("6e+10"), std::string::npos) << said;
  for (Probe& probe : record.evidence.probes) probe.peak_bytes = 3 * probe.client_bytes;
  conclude(record);
  EXPECT_TRUE(record.evidence.warnings.empty()) << "what is no longer so is no longer said";
}

TEST(MakeProfile, SaysThatTheClientWasLate) {
  for (const double lateness_s : {0.09, 0.11}) {
    Synthetic engine(5);
    engine.lateness_s = lateness_s;
    Record record = fresh();
    ASSERT_TRUE(profile_llm(record, engine, {}, {}).ok());
    EXPECT_EQ(record.evidence.warnings.count("lateness"), lateness_s > 0.1 ? 1u : 0u);
  }
}

TEST(MakeProfile, OfImagesGoesByThroughput) {
  Synthetic engine(0);
  Record record = fresh();
  ASSERT_TRUE(profile_batches(record, engine, 64, {}).ok());
  EXPECT_EQ(record.profile.role, ProfileRole::producer);
  EXPECT_DOUBLE_EQ(record.profile.max_rps, 8);
  EXPECT_EQ(record.profile.free_bytes, 32'000'000'000u);
  EXPECT_EQ(record.evidence.batches.size(), 5u);
}

}  // namespace
}  // namespace aqua::profiler
