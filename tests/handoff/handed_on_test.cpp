// SPDX-License-Identifier: Apache-2.0
// Requests that go on from their taker to another process, over segments.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aqua/handoff/pools.hpp"
#include "aqua/handoff/segment_carrier.hpp"
#include "tests/handoff/small_carrier.hpp"
#include "tests/handoff/stamped_cache.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua {
namespace {

constexpr std::chrono::seconds kPatience{20};

// A carrier, and the cache that it carries out of and into.
struct Place {
  Place(const std::string& keeper, const std::string& role)
      : carrier(SegmentCarrier::attach(cache.runtime(), cache.layout(),
                                       test::small_carrier(keeper, role))
                    .value()) {}
  [[nodiscard]] std::uint64_t open(const ParcelHead& head, const std::string& role) {
    const auto number = carrier.open(head, role).value();
    until(number, ParcelState::open);
    return number;
  }
  void until(std::uint64_t number, ParcelState state) {
    while (*carrier.state(number) < state) {
      if (carrier.wait(kPatience)) continue;
      ADD_FAILURE() << "there is no room for parcel " << number;
      return;
    }
  }
  void close(std::uint64_t number, const std::vector<std::uint32_t>& blocks) {
    EXPECT_TRUE(carrier.fill(number, {}, blocks, cache.stream()).ok());
    EXPECT_TRUE(carrier.close(number, {}, 8, "", cache.stream()).ok());
  }
  Parcel take() {
    for (;;) {
      auto come = carrier.accept(1);
      if (!come.empty()) return std::move(come.front());
      if (carrier.wait(kPatience)) continue;
      ADD_FAILURE() << "no parcel came";
      return {};
    }
  }

  test::StampedCache cache;
  SegmentCarrier carrier;
};

class HandedOn : public ::testing::Test {
 protected:
  HandedOn() {
    EXPECT_TRUE(decode_.carrier.admit("prefill", 1).ok());
    EXPECT_TRUE(next_.carrier.admit("decode", 1).ok());
    prefill_.cache.stamp(blocks_, 7);
  }

  const std::vector<std::uint32_t> blocks_{3, 5};
  test::KeeperProcess keeper_;
  Place prefill_{keeper_.socket(), "prefill"};
  Place decode_{keeper_.socket(), "decode"};
  Place next_{keeper_.socket(), "next"};
};

TEST_F(HandedOn, ItsTakerReadsNoSegmentOfItAnyMore) {
  prefill_.close(prefill_.open({"r", 1}, "decode"), blocks_);
  const Parcel taken = decode_.take();
  ASSERT_TRUE(decode_.carrier.land(taken.number, {}, blocks_, {}, decode_.cache.stream()).ok());
  decode_.close(decode_.open({"r", taken.turn + 1}, "next"), blocks_);
  const Parcel there = next_.take();
  ASSERT_TRUE(next_.carrier.land(there.number, {}, blocks_, {}, next_.cache.stream()).ok());
  EXPECT_TRUE(next_.cache.stamped(blocks_, 7));
  while (decode_.carrier.status().taken != 0) {
    EXPECT_TRUE(decode_.carrier.accept(1).empty());
    if (decode_.carrier.status().taken == 0) break;
    ASSERT_TRUE(decode_.carrier.wait(kPatience)) << "it ended when it was handed on";
  }
  EXPECT_EQ(decode_.carrier.finish(taken.number, {}).error().code, Code::not_found);
  while (prefill_.carrier.status().ready < 3) {
    ASSERT_TRUE(prefill_.carrier.wait(kPatience)) << "its segment comes back, beside two others";
  }
}

TEST_F(HandedOn, TheRoomOfWhatItsTakerWasNotToldOfIsFreeAgain) {
  EXPECT_TRUE(decode_.carrier.accept(1).empty());
  const std::uint64_t first = prefill_.open({"r", 1}, "decode");
  prefill_.close(first, blocks_);
  prefill_.until(first, ParcelState::closed);
  while (list_pools(keeper_.socket()).value().at(0).waiting != 0) std::this_thread::yield();
  // It is decode's now, which speaks for the request by itself.
  decode_.close(decode_.open({"r", 9}, "next"), blocks_);
  EXPECT_EQ(next_.take().id, "r");
  prefill_.close(prefill_.open({"s", 1}, "decode"), blocks_);
  EXPECT_EQ(decode_.take().id, "s");
}

}  // namespace
}  // namespace aqua
