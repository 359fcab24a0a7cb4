// SPDX-License-Identifier: Apache-2.0
// Each allocation that a call on a microbatch swap makes is made to fail. The call says so; from
// then on the swap is of use, or says that it is none.
#include <algorithm>
#include <iterator>

#include "tests/capi/fail_each.hpp"
#include "tests/capi/kv_stream/microbatch_swap_fixture.hpp"

namespace aqua::test {
namespace {

// Copies are slow, so that they are under way when the call that posted them fails.
class NoMemoryMicrobatchSwap : public CapiMicrobatchSwap {
 protected:
  NoMemoryMicrobatchSwap() : CapiMicrobatchSwap(std::uint64_t{4} << 20) {}

  // Each microbatch holds what was written last.
  void begin() {
    swap_ = create();
    for (std::uint32_t m = 0; m < kMicrobatches; ++m) turn(swap_, m, 0, 10 + static_cast<int>(m));
  }
  [[nodiscard]] aqua_error* begin_turn() {
    return aqua_microbatch_swap_begin_turn(swap_, 0, 0, 1, &buffer_);
  }
  [[nodiscard]] aqua_error* end_turn() {
    return aqua_microbatch_swap_end_turn(swap_, writes_.data(), writes_.size(), &number_);
  }
  // What the swap says after a call that was made, or not. After one that failed in its middle it
  // is of no use, and frees after the copies that were posted.
  [[nodiscard]] aqua_code state(bool made) {
    const aqua_code code = code_of(aqua_microbatch_swap_drop(swap_, 0, nullptr, 0));
    EXPECT_TRUE(code == AQUA_OK || code == AQUA_FAILED_PRECONDITION ||
                (!made && code == AQUA_ABORTED))
        << aqua_code_name(code);
    return code;
  }
  void expect_others() {
    for (std::uint32_t m = 1; m < kMicrobatches; ++m) turn(swap_, m, 10 + static_cast<int>(m), 20);
  }

  aqua_microbatch_swap swap_{};
  std::uint32_t buffer_ = 0;
  const std::array<std::uint32_t, 2> writes_{0, 1};
  std::uint64_t number_ = 0;
};

TEST_F(NoMemoryMicrobatchSwap, ATurnThatBegins) {
  const auto check = [&](bool made) {
    if (state(made) != AQUA_ABORTED) {
      if (!made) freed(begin_turn());  // it is asked again
      std::array<std::uint8_t, 2 * kBlockBytes> bytes{};
      freed(aqua_emulated_read(runtime_, 0, keys(buffer_), bytes.data(), bytes.size()));
      freed(end_turn());
      freed(aqua_emulated_synchronize(runtime_, 0));
      EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 10), std::ssize(bytes));
      expect_others();
    }
    leave(swap_);
  };
  for (const Failing how : {Failing::once, Failing::from_then_on}) {
    fail_each(
        "aqua_microbatch_swap_begin_turn", [&] { return begin_turn(); }, [&] { begin(); }, check,
        AQUA_RESOURCE_EXHAUSTED, 1, how);
  }
}

TEST_F(NoMemoryMicrobatchSwap, ATurnThatEnds) {
  const auto prepare = [&] {
    begin();
    freed(begin_turn());
  };
  const auto check = [&](bool made) {
    const aqua_code code = state(made);
    // Lost with its turn, or still within it.
    if (!made && code == AQUA_OK) freed(aqua_microbatch_swap_clear(swap_, 0));
    if (!made && code == AQUA_FAILED_PRECONDITION) freed(end_turn());
    if (code != AQUA_ABORTED) expect_others();
    leave(swap_);
  };
  for (const Failing how : {Failing::once, Failing::from_then_on}) {
    fail_each(
        "aqua_microbatch_swap_end_turn", [&] { return end_turn(); }, prepare, check, AQUA_DATA_LOSS,
        1, how);
  }
}

}  // namespace
}  // namespace aqua::test
