// SPDX-License-Identifier: Apache-2.0
// Each allocation that a call on a microbatch swap makes is made to fail. The call says so; from
// then on the swap is of use, or says that it is none.
#include "tests/capi/fail_each.hpp"
#include "tests/capi/kv_stream/microbatch_swap_fixture.hpp"

namespace aqua::test {
namespace {

using NoMemoryMicrobatchSwap = CapiMicrobatchSwap;

TEST_F(NoMemoryMicrobatchSwap, ATurn) {
  aqua_microbatch_swap swap{};
  const auto begin = [&] {
    swap = create();
    for (std::uint32_t m = 0; m < kMicrobatches; ++m) turn(swap, m, 0, 10);
  };
  // After a call that failed in its middle all others say so, and the copies that it had posted are
  // waited for.
  const auto end = [&](bool made) {
    const aqua_code code = code_of(aqua_microbatch_swap_drop(swap, 0, nullptr, 0));
    EXPECT_TRUE(code == AQUA_OK || code == AQUA_FAILED_PRECONDITION ||
                (!made && code == AQUA_ABORTED))
        << aqua_code_name(code);
    leave(swap);
  };
  std::uint32_t buffer = 0;
  fail_each(
      "aqua_microbatch_swap_begin_turn",
      [&] { return aqua_microbatch_swap_begin_turn(swap, 0, 0, 1, &buffer); }, begin, end);
  const std::array<std::uint32_t, 2> writes{0, 1};
  std::uint64_t number = 0;
  fail_each(
      "aqua_microbatch_swap_end_turn",
      [&] { return aqua_microbatch_swap_end_turn(swap, writes.data(), writes.size(), &number); },
      [&] {
        begin();
        freed(aqua_microbatch_swap_begin_turn(swap, 0, 0, 1, &buffer));
      },
      end, AQUA_DATA_LOSS);
}

}  // namespace
}  // namespace aqua::test
