// SPDX-License-Identifier: Apache-2.0
// Each allocation that a call on a KV pool makes is made to fail. The call says so, and a list that
// could not be shown is shown by the next call. Of the calls that post nothing: others wake the
// pool's threads, which speak to the keeper (see ../sharing/no_memory_test.cpp).
#include "tests/capi/fail_each.hpp"
#include "tests/capi/handoff/pool_fixture.hpp"

namespace aqua::test {
namespace {

using NoMemoryKvPool = CapiKvPool;

TEST_F(NoMemoryKvPool, WhatAPoolTells) {
  const aqua_kv_pool pool = join("prefill");
  aqua_kv_pool_status status = AQUA_KV_POOL_STATUS_INIT;
  fail_each("aqua_kv_pool_get_status", [&] { return aqua_kv_pool_get_status(pool, &status); });
  void* address = nullptr;
  fail_each("aqua_kv_pool_get_plane", [&] { return aqua_kv_pool_get_plane(pool, 0, 0, &address); });
  aqua_layout layout{};
  fail_each(
      "aqua_kv_pool_create_layout", [&] { return aqua_kv_pool_create_layout(pool, &layout); }, {},
      [&](bool made) {
        if (made) freed(aqua_layout_free(layout));
      });
  leave(pool);
}

TEST_F(NoMemoryKvPool, AListThatCouldNotBeShownIsShownByTheNextCall) {
  const aqua_kv_pool pool = join("prefill");
  std::uint64_t opened = 0;
  ASSERT_EQ(code_of(aqua_kv_pool_open(pool, "r", 9, "decode", &opened)), AQUA_OK);
  std::size_t count = 0;
  const aqua_delivery* const* deliveries = nullptr;
  // Opens a parcel of a lower turn; returns when it has been refused, which is a delivery.
  const auto be_refused = [&] {
    freed(aqua_kv_pool_open(pool, "r", 1, "decode", &opened));
    aqua_parcel_state state = AQUA_PARCEL_RESERVED;
    while (code_of(aqua_kv_pool_get_parcel_state(pool, opened, &state)) == AQUA_OK) {
      await_news(pool);
      ASSERT_FALSE(HasFatalFailure());
    }
  };
  fail_each(
      "aqua_kv_pool_deliveries", [&] { return aqua_kv_pool_deliveries(pool, &deliveries, &count); },
      be_refused,
      [&](bool shown) {
        if (!shown) freed(aqua_kv_pool_deliveries(pool, &deliveries, &count));
        ASSERT_EQ(count, 1U);
        EXPECT_EQ(deliveries[0]->number, opened);
      });
  leave(pool);
}

}  // namespace
}  // namespace aqua::test
