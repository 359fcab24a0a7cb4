// SPDX-License-Identifier: Apache-2.0
// Processes that ask the keeper for parcels and segments in ways that no SegmentCarrier would, and
// parcels that are not what one makes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aqua/handoff/pools.hpp"
#include "aqua/handoff/segment_carrier.hpp"
#include "aqua/handoff/segments.hpp"
#include "keeper_client/pool_client.hpp"
#include "keeper_client/segment_client.hpp"
#include "tests/base/code_of.hpp"
#include "tests/handoff/small_carrier.hpp"
#include "tests/handoff/stamped_cache.hpp"
#include "tests/handoff/stamped_pool.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua {
namespace {

constexpr std::uint64_t kUnit = std::uint64_t{2} << 20;

class HostileCarrier : public ::testing::Test {
 protected:
  [[nodiscard]] PoolClient join(const std::string& role, const std::string& name = "carried") {
    PoolClient client = PoolClient::connect(keeper_.socket()).value();
    EXPECT_TRUE(client.call(joining(role, name)).ok());
    return client;
  }
  static pool_wire::JoinPool joining(const std::string& role, const std::string& name) {
    return {.pool = name, .role = role, .device = {}, .shape = "segments"};
  }
  [[nodiscard]] SegmentClient join_segments() {
    SegmentClient client = SegmentClient::connect(keeper_.socket()).value();
    EXPECT_TRUE(client.call(segment_wire::Join{}).ok());
    return client;
  }
  static std::uint64_t reserve(SegmentClient& client) {
    return client.call(segment_wire::Reserve{kUnit}).value().reply.name.number;
  }
  static std::uint64_t open(PoolClient& giver, const std::string& id) {
    return giver.call(pool_wire::Open{"decode", {id, 1}}).value().reply.number;
  }
  static std::string commit(SegmentClient& client, std::uint64_t segment, std::uint64_t parcel) {
    return code_of(client.call(segment_wire::Commit{segment, 64, {}, parcel}));
  }
  [[nodiscard]] std::vector<SegmentStatus> kept() const {
    return list_segments(keeper_.socket()).value();
  }
  // The next parcel that comes to a carrier.
  static Parcel take(SegmentCarrier& carrier) {
    for (;;) {
      auto come = carrier.accept(1);
      if (!come.empty()) return std::move(come.front());
      if (!carrier.wait(std::chrono::seconds(20))) {
        ADD_FAILURE() << "no parcel came";
        return {};
      }
    }
  }

  mutable test::KeeperProcess keeper_;
};

TEST_F(HostileCarrier, SegmentsGoOnlyWithParcelsThatTheSameProcessHasOpen) {
  PoolClient giver = join("prefill");
  PoolClient taker = join("decode");
  SegmentClient writer = join_segments();
  const std::uint64_t segment = reserve(writer), other = reserve(writer);
  const std::uint64_t parcel = open(giver, "r");
  EXPECT_EQ(commit(writer, segment, parcel + 1), "not_found");
  const pid_t child = ::fork();
  if (child == 0) {
    SegmentClient stranger = SegmentClient::connect(keeper_.socket()).value();
    const bool joined = stranger.call(segment_wire::Join{}).ok();
    const std::uint64_t own = reserve(stranger);
    std::_Exit(joined && commit(stranger, own, parcel) == "not_found" ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "another process's parcel";
  EXPECT_TRUE(kept().empty());
  ASSERT_EQ(commit(writer, segment, parcel), "ok");
  EXPECT_EQ(commit(writer, other, parcel), "failed_precondition") << "it has one";
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_EQ(kept()[0].parcel, parcel);
  EXPECT_EQ(drop_segment(segment, kept()[0].name.generation, keeper_.socket()).error().code,
            Code::failed_precondition);
  ASSERT_TRUE(giver.call(pool_wire::Close{{.number = parcel, .id = "r", .turn = 1}}).ok());
  EXPECT_EQ(commit(writer, other, parcel), "not_found") << "it is closed";
  const auto taken = taker.call(pool_wire::Accept{4}).value().reply.parcels;
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].segment, kept()[0].name);
  EXPECT_EQ(taken[0].from, "prefill");
  ASSERT_TRUE(taker.call(pool_wire::Finish{parcel}).ok());
  EXPECT_TRUE(kept().empty());
  EXPECT_EQ(writer.call(segment_wire::Returned{}).value().reply.numbers, std::vector{segment});
}

TEST_F(HostileCarrier, ASegmentEndsHoweverItsParcelDoes) {
  PoolClient giver = join("prefill");
  SegmentClient writer = join_segments();
  const auto committed = [&](const std::string& id) {
    const std::uint64_t parcel = open(giver, id);
    EXPECT_EQ(commit(writer, reserve(writer), parcel), "ok");
    EXPECT_EQ(kept().size(), 1U);
    return parcel;
  };
  ASSERT_TRUE(giver.call(pool_wire::Recall{committed("a")}).ok());
  EXPECT_TRUE(kept().empty()) << "recalled";
  (void)committed("b");
  ASSERT_TRUE(cancel_parcel("carried", "b", keeper_.socket()).ok());
  EXPECT_TRUE(kept().empty()) << "cancelled";
  (void)committed("c");
  ASSERT_TRUE(giver.call(pool_wire::Open{"decode", {"c", 2}}).ok());
  EXPECT_TRUE(kept().empty()) << "superseded while it was open";
  const std::uint64_t waits = committed("d");
  ASSERT_TRUE(giver.call(pool_wire::Close{{.number = waits, .id = "d", .turn = 1}}).ok());
  ASSERT_TRUE(giver.call(pool_wire::Leave{}).ok());
  EXPECT_EQ(kept().size(), 1U) << "closed, it waits";
  ASSERT_TRUE(remove_pool("carried", keeper_.socket()).ok());
  EXPECT_TRUE(kept().empty()) << "removed by an operator";
}

TEST_F(HostileCarrier, NumbersOfParcelsAreNobodyElses) {
  PoolClient giver = join("prefill");
  PoolClient other = join("prefill", "others");
  const std::uint64_t first = open(giver, "r"), second = open(other, "r");
  EXPECT_NE(first, second);
  ASSERT_TRUE(giver.call(pool_wire::Leave{}).ok());
  PoolClient again = join("prefill");
  EXPECT_GT(open(again, "r"), second) << "also in a pool that is made anew";
}

TEST_F(HostileCarrier, OfAPoolWithoutBlocksNoQuotaCanBeMoved) {
  PoolClient giver = join("prefill");
  const auto moved = move_quota("carried", "prefill", "decode", 1, keeper_.socket());
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().code, Code::not_found) << moved.error().message;
  EXPECT_NE(open(giver, "r"), 0U) << "the keeper is there still";
}

TEST_F(HostileCarrier, ParcelsThatNoCarrierMadeAreRefusedWhereTheyLand) {
  test::StampedCache cache;
  auto decode = SegmentCarrier::attach(cache.runtime(), cache.layout(),
                                       test::small_carrier(keeper_.socket(), "decode"))
                    .value();
  PoolClient giver = join("prefill");
  SegmentClient writer = join_segments();
  const std::vector<std::uint32_t> into{3};
  for (const bool with_segment : {false, true}) {
    const std::string id = with_segment ? "zeroes" : "nothing";
    const std::uint64_t number = open(giver, id);
    if (with_segment) {
      ASSERT_EQ(commit(writer, reserve(writer), number), "ok");
    }
    ASSERT_TRUE(giver.call(pool_wire::Close{{.number = number, .id = id, .turn = 1}}).ok());
    const Parcel parcel = take(decode);
    EXPECT_EQ(parcel.id, id);
    const auto landed = decode.land(parcel.number, {}, into, {}, cache.stream());
    ASSERT_FALSE(landed.ok());
    EXPECT_EQ(landed.error().code, Code::invalid_argument) << landed.error().message;
    EXPECT_TRUE(decode.finish(parcel.number, cache.stream()).ok());
  }
}

TEST_F(HostileCarrier, OptionsThatCannotBeAreRefused) {
  test::StampedCache cache;
  const auto code = [&](const SegmentCarrierOptions& options) {
    return code_of(SegmentCarrier::attach(cache.runtime(), cache.layout(), options));
  };
  const SegmentCarrierOptions good = test::small_carrier(keeper_.socket(), "prefill");
  SegmentCarrierOptions wrong = good;
  wrong.name = "";
  EXPECT_EQ(code(wrong), "invalid_argument");
  wrong = good;
  wrong.role = std::string(129, 'r');
  EXPECT_EQ(code(wrong), "invalid_argument");
  wrong = good;
  wrong.parcel_bytes = 0;
  EXPECT_EQ(code(wrong), "invalid_argument");
  wrong = good;
  wrong.keeper = keeper_.socket() + ".none";
  EXPECT_EQ(code(wrong), "unavailable");
  Runtime gpu = open_small_gpu();
  const auto pool = KvPool::attach(gpu, small_pool(keeper_.socket(), "prefill"));
  ASSERT_TRUE(pool.ok());
  wrong = good;
  wrong.name = "small";
  EXPECT_EQ(code(wrong), "failed_precondition") << "a pool's name";
  EXPECT_EQ(code(good), "ok");
}

TEST_F(HostileCarrier, WhatHasNoRoomInAParcelIsRefusedAndTheRestArrives) {
  test::StampedCache cache;
  SegmentCarrierOptions small = test::small_carrier(keeper_.socket(), "prefill");
  small.parcel_bytes = 1;  // 2 MiB all the same: what the keeper gives at least
  auto prefill = SegmentCarrier::attach(cache.runtime(), cache.layout(), small).value();
  auto decode = SegmentCarrier::attach(cache.runtime(), cache.layout(),
                                       test::small_carrier(keeper_.socket(), "decode"))
                    .value();
  ASSERT_TRUE(decode.admit("prefill", 1).ok());
  const auto number = prefill.open({"r", 1}, "decode").value();
  while (*prefill.state(number) == ParcelState::reserved) {
    ASSERT_TRUE(prefill.wait(std::chrono::seconds(20)));
  }
  const auto blocks = test::StampedCache::blocks(2, 5, 3);
  cache.stamp(blocks, 7);
  const auto fill = [&](const KvRange& range, BlockList from) {
    return code_of(prefill.fill(number, range, from, cache.stream()));
  };
  EXPECT_EQ(fill({}, blocks), "ok");
  EXPECT_EQ(fill({}, blocks), "invalid_argument") << "twice";
  std::vector<std::uint32_t> many;
  for (int i = 0; i < 200; ++i) many.push_back(static_cast<std::uint32_t>(i % 64));
  EXPECT_EQ(fill({.layers = {0, 2}}, many), "resource_exhausted");
  EXPECT_EQ(fill({.layers = {0, 2}}, std::vector<std::uint32_t>{64}), "invalid_argument");
  EXPECT_EQ(prefill.close(number, {}, 2, std::string(4097, 'n'), cache.stream()).error().code,
            Code::invalid_argument);
  ASSERT_TRUE(prefill.close(number, {}, 2, "note", cache.stream()).ok());
  const Parcel parcel = take(decode);
  const std::vector<std::uint32_t> into{40, 41};
  ASSERT_TRUE(decode.land(parcel.number, {}, into, {}, cache.stream()).ok());
  EXPECT_TRUE(cache.stamped(into, 7));
}

}  // namespace
}  // namespace aqua
