// SPDX-License-Identifier: Apache-2.0
// Couriers that are killed while one server's segments are copied to another: at each step, and at
// random. In the end each segment that is kept has its copy, and nothing else has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "tests/southbound/peers.hpp"
#include "tests/tools/courier/mirror/mirrored.hpp"

namespace aqua {
namespace {

using test::Mirrored;
using testing::eventually;

class KilledMirror : public Mirrored, public ::testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(At, KilledMirror,
                         ::testing::Values("a_copy", "a_send", "b_commit", "b_landed", "b_forget"),
                         [](const auto& step) { return step.param; });
TEST_P(KilledMirror, LosesAndLeavesNothing) {
  servers_.mirror();
  const auto a = client_of(servers_.keeper_of_a());
  const SegmentName gone = a->commit(1, 100);
  EXPECT_TRUE(eventually([&] { return is_copied(gone, 1); }));
  const bool of_a = GetParam().starts_with("a_");
  const auto& courier = of_a ? servers_.courier_of_a() : servers_.courier_of_b();
  ASSERT_EQ(courier->ask("stop-at " + GetParam().substr(2)), "ok");
  a->say(segment_wire::Drop{gone.number, gone.generation});
  const SegmentName next = a->commit(2, 3'000'000);
  ASSERT_EQ(courier->answer(), "at " + GetParam().substr(2));
  if (of_a) {
    servers_.kill_a();
    servers_.start_a();
  } else {
    servers_.kill_b();
    servers_.start_b();
  }
  EXPECT_TRUE(eventually([&] { return is_copied(next, 2) && copies() == 1; }));
}

// AQUA_COURIER_KILLS=200 for the full suite.
TEST_F(Mirrored, CouriersKilledAtRandomLoseAndLeaveNothing) {
  servers_.mirror();
  std::mt19937 random(11);
  const auto one_of = [&](std::uint32_t n) { return std::uint32_t(random() % n); };
  const char* const wanted = std::getenv("AQUA_COURIER_KILLS");
  const int kills = wanted == nullptr ? 8 : std::atoi(wanted);
  const auto a = client_of(servers_.keeper_of_a());
  std::map<std::uint64_t, std::pair<SegmentName, std::uint64_t>> kept;
  std::uint64_t stamp = 0;
  for (int kill = 0; kill < kills; ++kill) {
    for (std::uint32_t changes = 1 + one_of(6); changes != 0; --changes) {
      if (!kept.empty() && one_of(2) == 0) {
        const auto gone = std::next(kept.begin(), one_of(std::uint32_t(kept.size())));
        a->say(segment_wire::Drop{gone->first, gone->second.first.generation});
        a->say(segment_wire::GiveUp{gone->first});
        kept.erase(gone);
      } else {
        const SegmentName name = a->commit(++stamp, 1 + one_of(3'000'000));
        kept[name.number] = {name, stamp};
      }
    }
    if (one_of(2) == 0) {
      servers_.kill_a();
      servers_.start_a();
    } else {
      servers_.kill_b();
      servers_.start_b();
    }
  }
  EXPECT_TRUE(eventually([&] {
    return copies() == kept.size() && std::all_of(kept.begin(), kept.end(), [&](const auto& one) {
             return is_copied(one.second.first, one.second.second);
           });
  }));
}

}  // namespace
}  // namespace aqua
