// SPDX-License-Identifier: Apache-2.0
// KV pools over the C ABI, with a real keeper: what one member hands over another accepts in place.
#include <cstring>
#include <string>

#include "tests/capi/handoff/pool_fixture.hpp"

namespace aqua::test {
namespace {

TEST_F(CapiKvPool, WhatPrefillHandsOverDecodeReadsInPlace) {
  const aqua_kv_pool prefill = join("prefill");
  const aqua_kv_pool decode = join("decode");
  const Blocks blocks = allocate(prefill, 3);
  write(prefill, blocks, 5);
  aqua_parcel given = parcel_of("request 7", 1, blocks);
  given.tokens = 10;
  given.note = "a\0b";
  given.note_bytes = 3;
  ASSERT_EQ(code_of(aqua_kv_pool_hand_over(prefill, &given, "decode", 0)), AQUA_OK);
  EXPECT_EQ(status_of(prefill).used, 0U) << "they are decode's";

  const aqua_parcel* const taken = take(decode);
  EXPECT_STREQ(taken->id, "request 7");
  EXPECT_EQ(taken->turn, 2U) << "to take it raises the turn";
  EXPECT_EQ(taken->tokens, 10U);
  EXPECT_EQ(taken->tail_in_doubt, 0U);
  EXPECT_EQ(std::string(static_cast<const char*>(taken->note), taken->note_bytes),
            std::string("a\0b", 3));
  EXPECT_EQ(blocks_of(*taken), blocks);
  EXPECT_EQ(wrong_bytes(decode, blocks, 5), 0U);
  EXPECT_NE(wrong_bytes(decode, blocks, 6), 0U) << "the comparison can fail";
  const aqua_kv_pool_status status = status_of(decode);
  EXPECT_EQ(status.taken, 1U);
  EXPECT_EQ(status.connected, 1U);
  EXPECT_STREQ(status.error, "");

  const std::uint64_t number = taken->number;
  EXPECT_EQ(code_of(aqua_kv_pool_confirm(decode, number)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_kv_pool_finish(decode, number, 0)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_kv_pool_finish(decode, number, 0)), AQUA_NOT_FOUND);
  EXPECT_EQ(status_of(decode).taken, 0U);
  leave(prefill);
  leave(decode);
}

TEST_F(CapiKvPool, AParcelIsOpenedFilledALayerAtATimeAndConfirmed) {
  const aqua_kv_pool prefill = join("prefill");
  const aqua_kv_pool decode = join("decode");
  std::uint64_t number = 0;
  ASSERT_EQ(code_of(aqua_kv_pool_open(prefill, "r", 1, "decode", &number)), AQUA_OK);
  const Blocks blocks = allocate(prefill, 2);
  for (unsigned layer = 0; layer < kLayers; ++layer) write_layer(prefill, blocks, layer, 9);
  EXPECT_EQ(state_after(prefill, number, AQUA_PARCEL_RESERVED), AQUA_PARCEL_OPEN);
  const aqua_parcel filled = parcel_of(nullptr, 0, blocks);
  ASSERT_EQ(code_of(aqua_kv_pool_close(prefill, number, &filled, 0)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_kv_pool_close(prefill, number, &filled, 0)), AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(state_after(prefill, number, AQUA_PARCEL_OPEN), AQUA_PARCEL_CLOSED);

  const aqua_parcel* const taken = take(decode);
  EXPECT_STREQ(taken->id, "r");
  EXPECT_EQ(wrong_bytes(decode, blocks_of(*taken), 9), 0U);
  ASSERT_EQ(code_of(aqua_kv_pool_confirm(decode, taken->number)), AQUA_OK);
  const aqua_delivery* const told = delivery(prefill);
  EXPECT_EQ(told->number, number);
  EXPECT_EQ(told->outcome, AQUA_DELIVERY_CONFIRMED);
  EXPECT_EQ(told->code, AQUA_OK);
  EXPECT_STREQ(told->message, "");
  EXPECT_EQ(told->returned, 0U);
  aqua_parcel_state after = AQUA_PARCEL_OPEN;
  EXPECT_EQ(code_of(aqua_kv_pool_get_parcel_state(prefill, number, &after)), AQUA_NOT_FOUND);
  leave(prefill);
  leave(decode);
}

TEST_F(CapiKvPool, WhatIsRecalledIsTheGiversAgain) {
  const aqua_kv_pool prefill = join("prefill");
  const Blocks blocks = allocate(prefill, 2);
  std::uint64_t number = 0;
  ASSERT_EQ(code_of(aqua_kv_pool_open(prefill, "r", 1, "decode", &number)), AQUA_OK);
  const aqua_parcel filled = parcel_of("r", 1, blocks);
  ASSERT_EQ(code_of(aqua_kv_pool_close(prefill, number, &filled, 0)), AQUA_OK);
  ASSERT_EQ(code_of(aqua_kv_pool_recall(prefill, number)), AQUA_OK);
  const aqua_delivery* const told = delivery(prefill);
  EXPECT_EQ(told->number, number);
  EXPECT_EQ(told->outcome, AQUA_DELIVERY_RECALLED);
  EXPECT_EQ(told->returned, 1U);
  EXPECT_EQ(code_of(aqua_kv_pool_release(prefill, blocks.data(), blocks.size(), 0)), AQUA_OK);
  leave(prefill);
}

TEST_F(CapiKvPool, WhoLooksAfterPoolsAsksByName) {
  const aqua_kv_pool prefill = join("prefill");
  const char* const keeper = socket_.c_str();
  EXPECT_EQ(code_of(aqua_kv_pool_release_quarantined("small", keeper)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_kv_pool_remove("small", keeper)), AQUA_FAILED_PRECONDITION);
  for (const char* pool : {"small", "none"}) {
    EXPECT_EQ(code_of(aqua_kv_pool_cancel_parcel(pool, "r", keeper)), AQUA_NOT_FOUND);
    EXPECT_EQ(code_of(aqua_kv_pool_move_quota(pool, "prefill", "decode", 1, keeper)),
              AQUA_NOT_FOUND);
  }
  EXPECT_NE(code_of(aqua_kv_pool_cancel_parcel(nullptr, nullptr, keeper)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_kv_pool_cancel_parcel("small", "r", "/nowhere/keeper.sock")),
            AQUA_UNAVAILABLE);
  leave(prefill);
}

TEST_F(CapiKvPool, ALowerTurnComesBackWithItsBlocks) {
  const aqua_kv_pool prefill = join("prefill");
  const Blocks first = allocate(prefill, 1);
  const Blocks second = allocate(prefill, 1);
  aqua_parcel given = parcel_of("r", 2, first);
  ASSERT_EQ(code_of(aqua_kv_pool_hand_over(prefill, &given, "decode", 0)), AQUA_OK);
  given = parcel_of("r", 2, second);
  ASSERT_EQ(code_of(aqua_kv_pool_hand_over(prefill, &given, "decode", 0)), AQUA_OK);
  const aqua_undelivered* const back = undelivered(prefill);
  EXPECT_EQ(back->code, AQUA_ABORTED);
  EXPECT_STRNE(back->message, "");
  EXPECT_STREQ(back->role, "decode");
  EXPECT_EQ(back->in_doubt, 0U);
  EXPECT_STREQ(back->parcel->id, "r");
  EXPECT_EQ(blocks_of(*back->parcel), second);
  EXPECT_EQ(code_of(aqua_kv_pool_release(prefill, second.data(), 1, 0)), AQUA_OK);

  std::uint64_t number = 0;
  ASSERT_EQ(code_of(aqua_kv_pool_open(prefill, "r", 1, "decode", &number)), AQUA_OK);
  const aqua_delivery* const refused = delivery(prefill);
  EXPECT_EQ(refused->number, number);
  EXPECT_EQ(refused->outcome, AQUA_DELIVERY_REFUSED);
  EXPECT_EQ(refused->code, AQUA_ABORTED);
  EXPECT_STRNE(refused->message, "");
  leave(prefill);
}

TEST_F(CapiKvPool, WhoHasALowerTurnIsToldThatItIsSuperseded) {
  const aqua_kv_pool prefill = join("prefill");
  const aqua_kv_pool decode = join("decode");
  const Blocks blocks = allocate(prefill, 1);
  const aqua_parcel given = parcel_of("r", 1, blocks);
  ASSERT_EQ(code_of(aqua_kv_pool_hand_over(prefill, &given, "decode", 0)), AQUA_OK);
  const std::uint64_t taken = take(decode)->number;
  std::uint64_t number = 0;
  ASSERT_EQ(code_of(aqua_kv_pool_open(prefill, "r", 9, "decode", &number)), AQUA_OK);
  const std::uint64_t* numbers = nullptr;
  std::size_t count = 0;
  while (count == 0) {
    ASSERT_EQ(code_of(aqua_kv_pool_superseded(decode, &numbers, &count)), AQUA_OK);
    if (count == 0) await_news(decode);
  }
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(numbers[0], taken);
  EXPECT_EQ(code_of(aqua_kv_pool_finish(decode, taken, 0)), AQUA_OK);
  leave(decode);
  leave(prefill);
}

TEST_F(CapiKvPool, WhoWasToGetAParcelIsToldThatItDoesNotCome) {
  const aqua_kv_pool prefill = join("prefill");
  const aqua_kv_pool decode = join("decode");
  std::uint64_t number = 0;
  ASSERT_EQ(code_of(aqua_kv_pool_open(prefill, "r", 9, "decode", &number)), AQUA_OK);
  ASSERT_EQ(code_of(aqua_kv_pool_recall(prefill, number)), AQUA_OK);
  const aqua_parcel_head* const* heads = nullptr;
  std::size_t count = 0;
  while (count == 0) {
    ASSERT_EQ(code_of(aqua_kv_pool_cut_off(decode, &heads, &count)), AQUA_OK);
    if (count == 0) await_news(decode);
  }
  ASSERT_EQ(count, 1U);
  EXPECT_STREQ(heads[0]->id, "r");
  EXPECT_EQ(heads[0]->turn, 9U);
  leave(decode);
  leave(prefill);
}

TEST_F(CapiKvPool, ASharedPrefixIsReadByAllAndReleasedAsOften) {
  const aqua_kv_pool prefill = join("prefill");
  const aqua_kv_pool decode = join("decode");
  const Blocks prefix = allocate(prefill, 1);
  write(prefill, prefix, 3);
  ASSERT_EQ(code_of(aqua_kv_pool_share(prefill, prefix.data(), 1)), AQUA_OK);
  for (const char* const id : {"a", "b"}) {
    const aqua_parcel given = parcel_of(id, 1, prefix);
    ASSERT_EQ(code_of(aqua_kv_pool_hand_over(prefill, &given, "decode", 0)), AQUA_OK);
  }
  ASSERT_EQ(code_of(aqua_kv_pool_release(prefill, prefix.data(), 1, 0)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_kv_pool_release(prefill, prefix.data(), 1, 0)), AQUA_INVALID_ARGUMENT);
  for (int i = 0; i < 2; ++i) {
    const aqua_parcel* const taken = take(decode);
    EXPECT_EQ(blocks_of(*taken), prefix);
    EXPECT_EQ(wrong_bytes(decode, prefix, 3), 0U);
    EXPECT_EQ(code_of(aqua_kv_pool_finish(decode, taken->number, 0)), AQUA_OK);
  }
  leave(decode);
  leave(prefill);
}

TEST_F(CapiKvPool, ItsLayoutOffloadsAndFetchesItsBlocks) {
  const aqua_kv_pool pool = join("decode");
  const Blocks blocks = allocate(pool, 3);
  write(pool, blocks, 4);
  aqua_layout layout{};
  ASSERT_EQ(code_of(aqua_kv_pool_create_layout(pool, &layout)), AQUA_OK);
  aqua_layout_info info = AQUA_LAYOUT_INFO_INIT;
  ASSERT_EQ(code_of(aqua_layout_get_info(layout, &info)), AQUA_OK);
  EXPECT_EQ(info.layers, kLayers);
  EXPECT_EQ(info.planes_per_layer, kPlanes);
  EXPECT_EQ(info.block_count, kBlocks);
  EXPECT_EQ(info.plane_block_bytes, kPlaneBlockBytes);
  std::size_t bytes = 0;
  ASSERT_EQ(code_of(aqua_layout_packed_bytes(layout, blocks.size(), &bytes)), AQUA_OK);
  const aqua_tensor kept = tensor(bytes);
  ASSERT_EQ(code_of(aqua_offload(layout, blocks.data(), blocks.size(), kept, 0, 0, nullptr)),
            AQUA_OK);
  write(pool, blocks, 8);
  aqua_ticket ticket{};
  ASSERT_EQ(code_of(aqua_fetch(kept, layout, blocks.data(), blocks.size(), 0, 0, &ticket)),
            AQUA_OK);
  ASSERT_EQ(code_of(aqua_ticket_wait(ticket)), AQUA_OK);
  EXPECT_EQ(wrong_bytes(pool, blocks, 4), 0U);
  EXPECT_EQ(code_of(aqua_ticket_free(ticket)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_tensor_free(kept)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_layout_free(layout)), AQUA_OK);
  leave(pool);
}

TEST_F(CapiKvPool, AQuotaIsAllThatARoleGets) {
  aqua_kv_pool_options given = options("prefill");
  given.quota_blocks = 3;
  aqua_kv_pool pool{};
  ASSERT_EQ(code_of(aqua_kv_pool_attach(runtime_, &given, &pool)), AQUA_OK);
  EXPECT_EQ(status_of(pool).idle, 3U) << "of a reserve of 4";
  Blocks blocks = allocate(pool, 3);
  std::uint32_t more = 77;
  EXPECT_EQ(code_of(aqua_kv_pool_allocate(pool, 1, &more)), AQUA_RESOURCE_EXHAUSTED);
  EXPECT_EQ(more, 77U);
  ASSERT_EQ(code_of(aqua_kv_pool_release(pool, blocks.data(), 1, 0)), AQUA_OK);
  EXPECT_EQ(allocate(pool, 1), Blocks{blocks[0]});
  leave(pool);
}

TEST_F(CapiKvPool, ARuntimeWithAPoolIsNotClosed) {
  const aqua_kv_pool pool = join("decode");
  aqua_error* const refused = aqua_runtime_close(runtime_);
  EXPECT_NE(std::strstr(aqua_error_message(refused), "1 KV pools"), nullptr)
      << aqua_error_message(refused);
  EXPECT_EQ(code_of(refused), AQUA_FAILED_PRECONDITION);
  leave(pool);
}

TEST_F(CapiKvPool, WithoutItsKeeperItSaysSoAndWhatIsInItStays) {
  const aqua_kv_pool pool = join("prefill");
  const Blocks blocks = allocate(pool, 2);
  write(pool, blocks, 1);
  keeper_.kill();
  for (aqua_kv_pool_status status = status_of(pool); status.connected != 0;
       status = status_of(pool)) {
    await_news(pool);
    ASSERT_FALSE(HasFatalFailure());
  }
  EXPECT_STRNE(status_of(pool).error, "");
  const aqua_parcel given = parcel_of("r", 1, blocks);
  EXPECT_EQ(code_of(aqua_kv_pool_hand_over(pool, &given, "decode", 0)), AQUA_UNAVAILABLE);
  EXPECT_EQ(wrong_bytes(pool, blocks, 1), 0U);
  leave(pool);
}

}  // namespace
}  // namespace aqua::test
