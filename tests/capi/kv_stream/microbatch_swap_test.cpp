// SPDX-License-Identifier: Apache-2.0
// Microbatch swaps over the C ABI: every byte that a turn reads is the one that was written last,
// and what is refused changes nothing.
#include <array>
#include <cstring>

#include "tests/capi/kv_stream/microbatch_swap_fixture.hpp"

namespace aqua::test {
namespace {

TEST_F(CapiMicrobatchSwap, EveryByteIsTheOneWrittenLast) {
  const aqua_microbatch_swap swap = create();
  for (std::uint32_t m = 0; m < kMicrobatches; ++m) turn(swap, m, 0, 10 + static_cast<int>(m));
  for (int round = 1; round < 4; ++round) {
    for (std::uint32_t m = 0; m < kMicrobatches; ++m) {
      const int was = 10 * round + static_cast<int>(m);
      turn(swap, m, was, was + 10);
    }
  }
  ASSERT_FALSE(HasFatalFailure());
  const aqua_microbatch_swap_status status = status_of(swap);
  EXPECT_EQ(status.turns, 12U);
  EXPECT_EQ(status.foreseen + status.unforeseen, 12U);
  EXPECT_GE(status.foreseen, 8U);
  EXPECT_GT(status.fetched_bytes, 0U);
  EXPECT_GT(status.away_bytes, 0U);
  for (int done = 0; done == 0;)
    ASSERT_EQ(code_of(aqua_microbatch_swap_turn_done(swap, 12, &done)), AQUA_OK);
  leave(swap);
}

TEST_F(CapiMicrobatchSwap, WhatIsDroppedOrClearedIsHeldNoMore) {
  const aqua_microbatch_swap swap = create();
  for (std::uint32_t m = 0; m < kMicrobatches; ++m) turn(swap, m, 0, 10);
  turn(swap, 0, 10, 11);
  const std::uint64_t before = status_of(swap).fetched_bytes;
  const std::array<std::uint32_t, 2> blocks{1, 3};  // of which the second is not held
  EXPECT_EQ(code_of(aqua_microbatch_swap_drop(swap, 2, blocks.data(), blocks.size())), AQUA_OK);
  turn(swap, 2, 0, 12);
  EXPECT_EQ(status_of(swap).fetched_bytes - before, 2 * kBlockBytes)
      << "the one block that was held; microbatch 0, which comes next, is in a buffer still";
  EXPECT_EQ(code_of(aqua_microbatch_swap_clear(swap, 1)), AQUA_OK);
  const std::uint64_t then = status_of(swap).fetched_bytes;
  turn(swap, 1, 0, 13);
  EXPECT_EQ(status_of(swap).fetched_bytes, then) << "it holds nothing, and the next one is there";
  leave(swap);
}

TEST_F(CapiMicrobatchSwap, BadInputIsRefusedAndChangesNothing) {
  aqua_microbatch_swap_options given = options();
  aqua_microbatch_swap made{};
  const auto not_created = [&](const char* what, aqua_code code = AQUA_INVALID_ARGUMENT) {
    EXPECT_EQ(code_of(aqua_microbatch_swap_create(runtime_, &given, &made)), code) << what;
    EXPECT_EQ(made.id, 0U);
    given = options();
  };
  given.struct_size = 3;
  not_created("a size");
  given.microbatches = 1;
  not_created("one microbatch");
  given.microbatches = 2;
  not_created("two buffers of two");
  given.buffer_count = 1;
  not_created("one buffer of three");
  given.buffer_count = 0;
  not_created("no buffer");
  given.buffer_count = std::size_t{1} << 40;
  not_created("more buffers than there can be");
  given.buffers = nullptr;
  not_created("buffers that are NULL");
  const std::array<aqua_layout, 2> same{buffers_[0], buffers_[0]}, none{buffers_[0], {}};
  given.buffers = same.data();
  not_created("one buffer twice");
  given.buffers = none.data();
  not_created("a layout that is none");
  EXPECT_EQ(code_of(aqua_microbatch_swap_create(runtime_, nullptr, &made)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_microbatch_swap_create(runtime_, &given, nullptr)), AQUA_INVALID_ARGUMENT);

  const aqua_microbatch_swap swap = create();
  std::uint32_t buffer = 7;
  std::uint64_t number = 7;
  int done = 7;
  const std::array<std::uint32_t, 2> twice{1, 1};
  const std::uint32_t beyond = kBlocks;
  const auto begin = [&](aqua_stream stream, std::uint32_t microbatch, std::uint32_t next) {
    return code_of(aqua_microbatch_swap_begin_turn(swap, stream, microbatch, next, &buffer));
  };
  EXPECT_EQ(code_of(aqua_microbatch_swap_end_turn(swap, nullptr, 0, &number)),
            AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(begin(0, kMicrobatches, AQUA_NEXT_IN_ORDER), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(begin(0, 0, kMicrobatches), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(begin(kNoStream, 0, 1), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(buffer, 7U);
  EXPECT_EQ(begin(0, 0, 1), AQUA_OK);
  EXPECT_EQ(begin(0, 1, 2), AQUA_FAILED_PRECONDITION);
  const std::array<aqua_error*, 12> refused{
      aqua_microbatch_swap_get_status(swap, nullptr),
      aqua_microbatch_swap_begin_turn(swap, 0, 0, 1, nullptr),
      aqua_microbatch_swap_end_turn(swap, nullptr, 0, nullptr),
      aqua_microbatch_swap_end_turn(swap, nullptr, 1, &number),
      aqua_microbatch_swap_end_turn(swap, twice.data(), 2, &number),
      aqua_microbatch_swap_end_turn(swap, &beyond, 1, &number),
      aqua_microbatch_swap_end_turn(swap, &beyond, kBlocks + 1, &number),
      aqua_microbatch_swap_turn_done(swap, 1, nullptr),
      aqua_microbatch_swap_turn_done(swap, 1, &done),
      aqua_microbatch_swap_drop(swap, kMicrobatches, nullptr, 0),
      aqua_microbatch_swap_drop(swap, 1, &beyond, 1),
      aqua_microbatch_swap_clear(swap, kMicrobatches),
  };
  for (std::size_t i = 0; i < refused.size(); ++i)
    EXPECT_EQ(code_of(refused.at(i)), AQUA_INVALID_ARGUMENT) << i;
  EXPECT_EQ(code_of(aqua_microbatch_swap_drop(swap, 0, nullptr, 0)), AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(code_of(aqua_microbatch_swap_clear(swap, 0)), AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(done, 7);
  EXPECT_EQ(code_of(aqua_microbatch_swap_end_turn(swap, twice.data(), 1, &number)), AQUA_OK);
  EXPECT_EQ(number, 1U);
  leave(swap);
}

TEST_F(CapiMicrobatchSwap, HandlesThatAreNone) {
  const aqua_microbatch_swap swap = create();
  aqua_error* const open = aqua_runtime_close(runtime_);
  EXPECT_NE(std::strstr(aqua_error_message(open), "1 microbatch swaps"), nullptr);
  EXPECT_EQ(code_of(open), AQUA_FAILED_PRECONDITION);
  leave(swap);
  std::uint32_t buffer = 0;
  std::uint64_t number = 0;
  int done = 0;
  aqua_microbatch_swap_status status = AQUA_MICROBATCH_SWAP_STATUS_INIT;
  expect_refused(swap, [&](aqua_microbatch_swap one) -> Calls {
    return {[=] { return aqua_microbatch_swap_free(one); },
            [=, &status] { return aqua_microbatch_swap_get_status(one, &status); },
            [=, &buffer] { return aqua_microbatch_swap_begin_turn(one, 0, 0, 1, &buffer); },
            [=, &number] { return aqua_microbatch_swap_end_turn(one, nullptr, 0, &number); },
            [=, &done] { return aqua_microbatch_swap_turn_done(one, 1, &done); },
            [=] { return aqua_microbatch_swap_drop(one, 0, nullptr, 0); },
            [=] { return aqua_microbatch_swap_clear(one, 0); }};
  });
}

}  // namespace
}  // namespace aqua::test
