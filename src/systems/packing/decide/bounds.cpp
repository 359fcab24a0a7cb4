// SPDX-License-Identifier: Apache-2.0
#include "aqua/packing/bounds.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/packing/decide/bound_index.hpp"

// L2 for a threshold a <= C/2: items above C - a share a bin with none of at least a; each item in
// (C/2, C - a] has a bin of its own; what is left of these bins takes of the items in [a, C/2] what
// it can, and more bins take the rest (Martello and Toth, Knapsack Problems, 8.3).
namespace aqua::packing {
namespace {

std::uint64_t bins_for(std::uint64_t alone, std::uint64_t large, std::uint64_t large_sum,
                       std::uint64_t small_sum, std::uint64_t capacity) {
  const std::uint64_t left = large * capacity - large_sum;
  const std::uint64_t more = small_sum > left ? (small_sum - left + capacity - 1) / capacity : 0;
  return alone + large + more;
}

Result<void> check(const char* call, std::span<const std::uint64_t> sizes, std::uint64_t capacity) {
  if (capacity == 0) return Error{Code::invalid_argument, concat(call, ": capacity is 0")};
  for (const std::uint64_t size : sizes) {
    if (size > capacity) {
      return Error{Code::invalid_argument,
                   concat(call, ": a size of ", size, " with a capacity of ", capacity)};
    }
  }
  return {};
}

}  // namespace

std::uint64_t BoundIndex::value() const {
  constexpr std::size_t kHalf = kBuckets / 2;
  std::uint64_t small_sum = 0, large = 0, large_sum = 0, alone = 0;
  for (std::size_t k = kHalf + 1; k <= kBuckets; ++k) {
    large += count_[k];
    large_sum += sum_[k];
  }
  std::uint64_t best = 0;
  // From the threshold C/2 down to 0: small items join, large ones leave `alone`.
  for (std::size_t k = kHalf + 1; k-- > 0;) {
    if (k == kHalf) {  // every large item is alone
      best = large;
      alone = large;
      large = large_sum = 0;
    } else {
      small_sum += sum_[k + 1];
      alone -= count_[kBuckets - k];
      large += count_[kBuckets - k];
      large_sum += sum_[kBuckets - k];
    }
    best = std::max(best, bins_for(alone, large, large_sum, small_sum, capacity_));
  }
  return best;
}

Result<std::uint64_t> lower_bound(std::span<const std::uint64_t> sizes, std::uint64_t capacity) {
  AQUA_TRY(check("lower_bound", sizes, capacity));
  std::vector<std::uint64_t> sorted(sizes.begin(), sizes.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::uint64_t> sums(sorted.size() + 1);
  std::partial_sum(sorted.begin(), sorted.end(), sums.begin() + 1);
  const auto above = [&](std::uint64_t size) {  // the first that is larger
    return static_cast<std::uint64_t>(std::upper_bound(sorted.begin(), sorted.end(), size) -
                                      sorted.begin());
  };
  const std::uint64_t half = above(capacity / 2), all = sorted.size();
  std::uint64_t best = 0;
  for (std::uint64_t from = 0; from <= half; ++from) {
    const std::uint64_t threshold = from < half ? sorted[from] : capacity / 2 + 1;
    const std::uint64_t alone = from < half ? above(capacity - threshold) : half;
    best = std::max(best, bins_for(all - alone, alone - half, sums[alone] - sums[half],
                                   sums[half] - sums[from], capacity));
  }
  return best;
}

Result<OfflinePacking> pack_offline(std::span<const std::uint64_t> sizes, std::uint64_t capacity) {
  AQUA_TRY(check("pack_offline", sizes, capacity));
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  OfflinePacking packing{std::vector<std::uint64_t>(sizes.size()), 0};
  std::set<std::pair<std::uint64_t, std::uint64_t>> rooms;  // (room, bin)
  for (const std::size_t item : order) {
    auto found = rooms.lower_bound({sizes[item], 0});
    std::uint64_t room = capacity, bin = packing.bins;
    if (found == rooms.end()) {
      packing.bins += 1;
    } else {
      std::tie(room, bin) = *found;
      rooms.erase(found);
    }
    packing.bin_of[item] = bin;
    rooms.emplace(room - sizes[item], bin);
  }
  return packing;
}

}  // namespace aqua::packing
