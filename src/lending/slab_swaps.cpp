// SPDX-License-Identifier: Apache-2.0
#include "lending/slab_swaps.hpp"

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::lending {

Result<void> SlabSwaps::check_whole() const {
  if (!damaged_) return {};
  return Error{Code::failed_precondition,
               concat(owner_,
                      ": an earlier change failed and could not be undone; only the usable "
                      "bytes are safe")};
}

// When even the way back fails, the places concerned are given up: the engine must not use them and
// nobody else may have them.
Result<void> SlabSwaps::run(const std::vector<SlabSwap>& swaps) {
  for (std::size_t i = 0; i < swaps.size(); ++i) {
    auto done = run_one(swaps[i]);
    if (done.ok()) continue;
    while (i-- > 0 && !damaged_) {
      const SlabSwap& s = swaps[i];
      damaged_ = !run_one({s.range, s.offset, s.next, s.now}).ok();
    }
    return done;
  }
  return {};
}

Result<void> SlabSwaps::run_one(const SlabSwap& swap) {
  if (swap.now != nullptr) {
    AQUA_TRY(device_.unmap(*swap.range, swap.offset, swap.now->bytes()));
  }
  if (swap.next == nullptr) return {};
  auto mapped = device_.map(*swap.range, swap.offset, *swap.next);
  if (!mapped.ok() && swap.now != nullptr) {
    damaged_ = !device_.map(*swap.range, swap.offset, *swap.now).ok();
  }
  return mapped;
}

}  // namespace aqua::lending
