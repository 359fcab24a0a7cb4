// SPDX-License-Identifier: Apache-2.0
// What gpu_bench makes of its samples, and where it looks for bytes that no copy may write.
#include <gmock/gmock.h>

#include <array>
#include <vector>

#include "gpu/gaps.hpp"
#include "gpu/rows.hpp"

namespace aqua::bench {
namespace {

using ::testing::ElementsAre;

Samples timed(const char* name, bool gated, double behind_the_gate, double without) {
  return {.name = name,
          .bytes = 1e9,
          .gated = gated,
          .seconds = {gated ? behind_the_gate : without},
          .ungated = {without},
          .posted = {2 * without}};
}

TEST(Rows, CompareBehindTheGateOnlyWhatBothHave) {
  const auto all =
      rows({timed("bulk", true, 1, 4), timed("kernel", true, 2, 5), timed("each", false, 0, 8)},
           {{"group", "host"}});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_DOUBLE_EQ(all[1]["ratio_to_baseline_median"].get<double>(), 0.5);
  EXPECT_TRUE(all[1]["gated"].get<bool>());
  EXPECT_DOUBLE_EQ(all[2]["ratio_to_baseline_median"].get<double>(), 0.5);  // 4 over 8, not 1
  EXPECT_FALSE(all[2]["gated"].get<bool>());
  EXPECT_DOUBLE_EQ(all[2]["posted_ratio_to_baseline_median"].get<double>(), 0.5);
}

TEST(Rows, OfABaselineThatCouldNotBeGatedAreWithoutTheGate) {
  const auto all =
      rows({timed("bulk", false, 0, 4), timed("kernel", true, 1, 8)}, nlohmann::json::object());
  EXPECT_DOUBLE_EQ(all[1]["ratio_to_baseline_median"].get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(all[1]["gbps_median"].get<double>(), 1.0 / 8);
  EXPECT_FALSE(all[1]["gated"].get<bool>());
}

struct Found {
  std::uint64_t first, bytes;
  bool operator==(const Found&) const = default;
};
std::vector<Found> found(std::vector<std::byte>& area,
                         const std::vector<kernels::Segment>& segments) {
  const std::array<std::span<std::byte>, 1> areas{area};
  std::vector<Found> all;
  for (const Gap& gap : gaps(areas, segments)) {
    EXPECT_EQ(gap.area, area.data());
    all.push_back({gap.first, gap.bytes});
  }
  return all;
}

TEST(Gaps, AreWhatNoDestinationCovers) {
  std::vector<std::byte> area(100), elsewhere(8);
  std::byte* const a = area.data();
  EXPECT_THAT(found(area, {{a + 50, nullptr, 10},
                           {a, nullptr, 8},
                           {a + 8, nullptr, 8},
                           {elsewhere.data(), nullptr, 8}}),
              ElementsAre(Found{16, 34}, Found{60, 40}));
  EXPECT_THAT(found(area, {{a, nullptr, 100}}), ::testing::IsEmpty());
  EXPECT_THAT(found(area, {}), ElementsAre(Found{0, 100}));
}

TEST(Gaps, AreNeverLargerThanTheMost) {
  std::vector<std::byte> area(2 * kMostGap + 8);
  EXPECT_THAT(found(area, {}),
              ElementsAre(Found{0, kMostGap}, Found{kMostGap, kMostGap}, Found{2 * kMostGap, 8}));
}

}  // namespace
}  // namespace aqua::bench
