// SPDX-License-Identifier: Apache-2.0
// How moves end: each cell of what a request is moved by the next time.
#include "tools/router/decide/move_end.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace aqua::router {
namespace {

using migration::Kind;
using By = MoveBy;
using End = MoveEnd;

TEST(MoveEnd, WhatEndedFirstIsNoFailure) {
  EXPECT_FALSE(is_failure(End::done));
  EXPECT_FALSE(is_failure(End::ended));
  for (const End end : kMoveFailures) EXPECT_TRUE(is_failure(end)) << name_of(end);
  EXPECT_EQ(kMoveFailures.size() + 2, kMoveEndNames.size());
}

TEST(MoveEnd, AnEngineNamesFailuresAlone) {
  for (const End end : kMoveFailures) EXPECT_EQ(failure_named(name_of(end)), end);
  for (const char* name : {"", "done", "ended", "tired"}) EXPECT_FALSE(failure_named(name)) << name;
}

TEST(MoveEnd, FailuresAreCountedByKind) {
  MoveCounts counts;
  counts.add(Kind::kv, End::done);
  counts.add(Kind::kv, End::ended);
  counts.add(Kind::kv, End::no_room);
  counts.add(Kind::kv, End::refused);
  counts.add(Kind::tokens, End::died);
  EXPECT_EQ(counts.failed(Kind::kv), 2U);
  EXPECT_EQ(counts.failed(Kind::tokens), 1U);
  EXPECT_EQ(counts.of(Kind::kv, End::no_room), 1U);
}

// A row for each way, a cell for each end of a move by KV: in the order of By and End.
TEST(MoveEnd, WhatPassesIsTriedByKvAgainAndWhatLastsIsNot) {
  using Row = std::vector<By>;
  constexpr By k0 = By::kv, k1 = By::kv_again, k2 = By::kv_once_more, t = By::tokens;
  const std::vector<std::pair<By, Row>> rows{
      // done ended not_yet no_room outgrown too_late died dropped no_pool refused
      {k0, {k0, k0, k1, k1, k1, k1, k1, k1, t, t}},
      {k1, {k0, k1, k2, k2, k2, k2, k2, k2, t, t}},
      {k2, {k0, k2, t, t, t, t, t, t, t, t}},
      {t, {k0, t, t, t, t, t, t, t, t, t}}};
  for (const auto& [by, row] : rows) {
    ASSERT_EQ(row.size(), kMoveEndNames.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      EXPECT_EQ(next_by(by, Kind::kv, static_cast<End>(i)), row[i])
          << static_cast<int>(by) << ", " << kMoveEndNames[i];
    }
  }
}

TEST(MoveEnd, AMoveByTokensThatFailsSaysNothingOfKv) {
  for (const By by : {By::kv, By::kv_again, By::kv_once_more, By::tokens}) {
    EXPECT_EQ(next_by(by, Kind::tokens, End::done), By::kv);
    EXPECT_EQ(next_by(by, Kind::tokens, End::ended), by);
    for (const End end : kMoveFailures) EXPECT_EQ(next_by(by, Kind::tokens, end), by);
  }
}

}  // namespace
}  // namespace aqua::router
