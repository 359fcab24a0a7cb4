// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tools/profiler/search/record.hpp"

namespace aqua::profiler {
namespace {

Record with_probe(double peak) {
  Record record;
  record.profile.max_rps = 3;
  record.evidence.memory = "vllm";
  record.evidence.probes = {{.rate = 3,
                             .met = true,
                             .whole = true,
                             .peak_bytes = peak,
                             .pool_bytes = 30e9,
                             .queue_length = 0.5},
                            {.rate = 4, .met = false, .peak_bytes = 29e9, .pool_bytes = 30e9},
                            {.rate = 3, .met = false, .peak_bytes = 28e9, .pool_bytes = 30e9}};
  return record;
}

TEST(Conclude, FreeIsThePoolLessThePeakAtThatRate) {
  Record record = with_probe(20e9);
  conclude(record);
  EXPECT_EQ(record.profile.free_bytes, 10'000'000'000u);
  EXPECT_EQ(record.profile.role, ProfileRole::producer) << "from the threshold on";
  EXPECT_DOUBLE_EQ(record.profile.queue_length, 0.5);
}

TEST(Conclude, NothingIsFreeWithoutAWholeProbe) {
  Record record = with_probe(20e9);
  record.evidence.probes.front().whole = false;  // its memory is that of half a load
  conclude(record);
  EXPECT_EQ(record.profile.free_bytes, 0u);
  EXPECT_EQ(record.profile.role, ProfileRole::neutral);
}

TEST(Conclude, RatesAreTheSameWhateverTheirLastBit) {
  Record record = with_probe(20e9);
  record.profile.max_rps = 3 + 1e-12;
  conclude(record);
  EXPECT_EQ(record.profile.free_bytes, 10'000'000'000u);
  record.profile.max_rps = 3.1;
  conclude(record);
  EXPECT_EQ(record.profile.free_bytes, 0u) << "no probe was made there";
}

TEST(Conclude, TheThresholdIsAMatterOfTheUser) {
  Record record = with_probe(20e9);
  record.profile.threshold_bytes = 10'000'000'001;
  conclude(record);
  EXPECT_EQ(record.profile.role, ProfileRole::neutral);
}

TEST(Conclude, SwapIsTheMostThatAnyNeedHas) {
  Record record = with_probe(25e9);
  record.evidence.prefix_swap_bytes = 3e9;
  record.evidence.bursts = {{.swap_bytes = 2e9}, {.swap_bytes = 7e9}};
  conclude(record);
  EXPECT_EQ(record.profile.swap_bytes, 7'000'000'000u);
  EXPECT_EQ(record.profile.role, ProfileRole::consumer);
}

TEST(Conclude, ReadingsThatFailedAreSaidOfTheAnswerAlone) {
  Record record = with_probe(20e9);
  record.evidence.probes[1].memory_faults = 5;
  conclude(record);
  EXPECT_TRUE(record.evidence.warnings.empty()) << "another rate";
  record.evidence.probes[0].memory_faults = 2;
  conclude(record);
  EXPECT_EQ(record.evidence.warnings.at("readings").find("2 readings"), 0u);
}

TEST(Conclude, WithoutARateNothingIsFree) {
  Record record = with_probe(20e9);
  record.profile.max_rps = 0;
  conclude(record);
  EXPECT_EQ(record.profile.free_bytes, 0u);
  EXPECT_EQ(record.profile.kv_bytes, 30'000'000'000u);
}

}  // namespace
}  // namespace aqua::profiler
