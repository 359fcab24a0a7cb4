// SPDX-License-Identifier: Apache-2.0
// Two servers, the keeper of one of which has copies of what the other's keeps. Needs what
// two_servers.hpp does.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/base/eventually.hpp"
#include "tests/tools/courier/two_servers.hpp"
#include "tests/tools/keeper/keeper_disk_fixture.hpp"

namespace aqua::test {

class Mirrored : public ::testing::Test {
 protected:
  explicit Mirrored(const std::string& carrier = "tls") : servers_(20, carrier) {}

  static std::unique_ptr<keeper::test::Client> client_of(KeeperProcess& keeper) {
    auto client = std::make_unique<keeper::test::Client>(keeper.socket());
    client->say(segment_wire::Join{});
    return client;
  }
  // What is called so at `a` is at `b`, with the bytes of this stamp.
  bool is_copied(const SegmentName& original, std::uint64_t stamp) {
    const auto client = client_of(servers_.keeper_of_b());
    for (const SegmentStatus& row : client->rows()) {
      const auto& of = row.copy_of;  // an earlier keeper there may have given the same numbers
      if (!of || of->number != original.number || of->generation != original.generation) continue;
      if (row.name.bytes != original.bytes || row.name.digest != original.digest) continue;
      EXPECT_EQ(of->server, "a.test");
      return client->has(row.name, stamp);
    }
    return false;
  }
  bool has_copy(const SegmentName& original) {
    const auto rows = client_of(servers_.keeper_of_b())->rows();
    return std::any_of(rows.begin(), rows.end(), [&](const SegmentStatus& row) {
      return row.copy_of && row.copy_of->number == original.number;
    });
  }
  // Has a segment of this stamp copied and drops it. `b` has heard then of all that was dropped
  // before: copies are forgotten by number, and this one has the highest.
  void come_and_gone(keeper::test::Client& a, std::uint64_t stamp) {
    const SegmentName mark = a.commit(stamp, 10);
    EXPECT_TRUE(eventually([&] { return is_copied(mark, stamp); }));
    a.say(segment_wire::Drop{mark.number, mark.generation});
    EXPECT_TRUE(eventually([&] { return !has_copy(mark); }));
  }
  std::size_t copies() {
    const auto rows = client_of(servers_.keeper_of_b())->rows();
    return static_cast<std::size_t>(
        std::count_if(rows.begin(), rows.end(),
                      [](const SegmentStatus& row) { return row.copy_of.has_value(); }));
  }

  TwoServers servers_;
};

}  // namespace aqua::test
