// SPDX-License-Identifier: Apache-2.0
// What bounds the keeper's own memory over all pools, whoever asks it for more: a keeper that dies
// of it takes everybody's KV with it.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "aqua/handoff/pools.hpp"
#include "aqua/handoff/segment_carrier.hpp"
#include "aqua/handoff/segments.hpp"
#include "keeper_client/pool_client.hpp"
#include "parcel/pool_book.hpp"
#include "tests/base/code_of.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/handoff/small_carrier.hpp"
#include "tests/handoff/stamped_cache.hpp"
#include "tests/handoff/stamped_pool.hpp"
#include "tools/keeper/keeper.hpp"

namespace aqua {
namespace {

constexpr std::size_t kNote = ParcelBook::kLongestNote;

class PoolLimitsTest : public ::testing::Test {
 protected:
  // With room for so many pools, and for so many bytes in their records.
  void start(std::size_t pools, std::uint64_t record_bytes) {
    keeper_ = keeper::Keeper::start(
                  {.socket = socket_, .pools = pools, .pool_record_bytes = record_bytes})
                  .value();
  }
  [[nodiscard]] PoolClient connect() const { return PoolClient::connect(socket_).value(); }
  static std::string code_of(PoolClient& client, const pool_wire::PoolRequest& request) {
    return aqua::code_of(client.call(request));
  }
  // A pool without blocks, and so without memory.
  static pool_wire::JoinPool joining(const std::string& pool, const std::string& role) {
    return {.pool = pool, .role = role, .device = {}, .shape = "s"};
  }
  [[nodiscard]] PoolClient join(const std::string& pool, const std::string& role) const {
    PoolClient client = connect();
    EXPECT_EQ(code_of(client, joining(pool, role)), "ok");
    return client;
  }
  static pool_wire::Offer offer(const std::string& id, std::size_t note = kNote) {
    return {"decode", {.id = id, .turn = 1, .note = std::string(note, 'n')}};
  }

  aqua::testing::TempDir directory_;
  const std::string socket_ = directory_ / "keeper.sock";
  std::unique_ptr<keeper::Keeper> keeper_;
};

TEST_F(PoolLimitsTest, PoolsAreBoundedAlsoThoseThatTheirMembersHaveLeft) {
  start(2, 1 << 20);
  for (const char* const pool : {"a", "b"}) {
    PoolClient client = join(pool, "prefill");
    ASSERT_EQ(code_of(client, offer("r")), "ok");
    ASSERT_EQ(code_of(client, pool_wire::Leave{}), "ok");
  }
  PoolClient more = connect();
  const auto refused = more.call(joining("c", "prefill"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::resource_exhausted);
  EXPECT_NE(refused.error().message.find("2 pools, of at most 2"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(list_pools(socket_)->size(), 2U);
  (void)join("b", "decode");  // to one that there is
  ASSERT_TRUE(remove_pool("a", socket_).ok());
  EXPECT_EQ(code_of(more, joining("c", "prefill")), "ok");
}

TEST_F(PoolLimitsTest, ParcelsOfAllPoolsAreBoundedByTheirBytes) {
  start(8, 4 * (PoolBook::kParcelBytes + kNote));
  PoolClient a = join("a", "prefill"), b = join("b", "prefill");
  for (const char* const id : {"1", "2"}) {
    ASSERT_EQ(code_of(a, offer(id)), "ok");
    ASSERT_EQ(code_of(b, offer(id)), "ok");
  }
  const auto refused = a.call(offer("3", 0));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::resource_exhausted);
  EXPECT_NE(refused.error().message.find("in all pools, of at most 24576"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(code_of(b, pool_wire::Open{"decode", {"3", 1}, true}), "resource_exhausted");
  PoolClient taker = join("b", "decode");
  const auto taken = taker.call(pool_wire::Accept{1});
  ASSERT_EQ(code_of(taker, pool_wire::Finish{taken->reply.parcels.at(0).number}), "ok");
  EXPECT_EQ(code_of(a, offer("3")), "ok") << "what ended has made room";
}

// The keeper refuses to close it, and nobody would end it there but who gives it.
TEST_F(PoolLimitsTest, AParcelThatIsNotClosedForWantOfRoomHoldsNothingBack) {
  start(8, 2 * PoolBook::kParcelBytes + kNote / 2);
  Runtime gpu = open_small_gpu();
  KvPool prefill = KvPool::attach(gpu, small_pool(socket_, "prefill")).value();
  KvPool decode = KvPool::attach(gpu, small_pool(socket_, "decode")).value();
  const auto prompt = blocks_of(prefill, 1), more = blocks_of(prefill, 1);
  ASSERT_TRUE(prefill.hand_over({.id = "r", .turn = 1, .blocks = prompt}, "decode", {}).ok());
  while (list_pools(socket_)->at(0).waiting == 0) std::this_thread::yield();
  const std::uint64_t opened = prefill.open({.id = "r", .turn = 2}, "decode").value();
  ASSERT_TRUE(prefill.close(opened, more, 1, std::string(kNote, 'n'), {}).ok());
  const Delivery told = told_of(prefill);
  EXPECT_EQ(told.outcome, Delivery::Outcome::refused);
  EXPECT_EQ(told.error.code, Code::resource_exhausted) << told.error.message;
  EXPECT_TRUE(told.returned);
  EXPECT_EQ(take(decode).blocks, prompt);
}

// The keeper has what was filled by then, for a parcel that nobody will ever take.
TEST_F(PoolLimitsTest, AParcelOverASegmentThatIsNotClosedForWantOfRoomEndsWithItsSegment) {
  start(8, 2 * PoolBook::kParcelBytes);
  test::StampedCache ours, theirs;
  auto prefill =
      SegmentCarrier::attach(ours.runtime(), ours.layout(), test::small_carrier(socket_, "prefill"))
          .value();
  auto decode = SegmentCarrier::attach(theirs.runtime(), theirs.layout(),
                                       test::small_carrier(socket_, "decode"))
                    .value();
  ASSERT_TRUE(decode.admit("prefill", 1).ok());
  const std::uint64_t number = prefill.open({"r", 1}, "decode").value();
  while (prefill.state(number).value() != ParcelState::open) {
    ASSERT_TRUE(prefill.wait(kPoolPatience));
  }
  ASSERT_TRUE(prefill.close(number, {}, 1, std::string(kNote, 'n'), ours.stream()).ok());
  std::vector<Delivery> told;
  while ((told = prefill.deliveries()).empty()) ASSERT_TRUE(prefill.wait(kPoolPatience));
  EXPECT_EQ(told[0].outcome, Delivery::Outcome::refused);
  EXPECT_EQ(told[0].error.code, Code::resource_exhausted) << told[0].error.message;
  std::vector<ParcelHead> cut_off;
  while ((cut_off = decode.cut_off()).empty()) ASSERT_TRUE(decode.wait(kPoolPatience));
  EXPECT_EQ(cut_off[0].id, "r") << "it does not come under this turn";
  EXPECT_TRUE(list_segments(socket_)->empty());
}

}  // namespace
}  // namespace aqua
