// SPDX-License-Identifier: Apache-2.0
#include "tools/place/exact/pack.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace aqua::place {
namespace {

bool has(const std::vector<int>& groups, int group) {
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

class Search {
 public:
  Search(std::span<const PackItem> items, std::vector<PackBin> bins, long steps)
      : items_(items),
        bins_(std::move(bins)),
        steps_(steps),
        order_(items.size()),
        bin_(items.size(), -1) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return items_[a].shards > items_[b].shards;
    });
  }
  // Largest items first; of bins that look the same only the first is tried.
  bool place(std::size_t depth) {
    if (depth == order_.size()) return true;
    if (--steps_ < 0) return false;
    const PackItem& item = items_[order_[depth]];
    for (std::size_t b = 0; b < bins_.size(); ++b) {
      if (!fits(item, bins_[b]) || seen_before(b)) continue;
      put(item, bins_[b]);
      bin_[order_[depth]] = static_cast<int>(b);
      if (place(depth + 1)) return true;
      bins_[b].free += item.shards;
      if (item.group >= 0) bins_[b].groups.pop_back();
    }
    return false;
  }
  [[nodiscard]] bool gave_up() const { return steps_ < 0; }
  [[nodiscard]] std::vector<int> bins() && { return std::move(bin_); }

 private:
  static bool fits(const PackItem& item, const PackBin& bin) {
    return bin.free >= item.shards && (item.group < 0 || !has(bin.groups, item.group));
  }
  static void put(const PackItem& item, PackBin& bin) {
    bin.free -= item.shards;
    if (item.group >= 0) bin.groups.push_back(item.group);
  }
  [[nodiscard]] bool seen_before(std::size_t b) const {
    return std::any_of(bins_.begin(), bins_.begin() + static_cast<std::ptrdiff_t>(b),
                       [&](const PackBin& other) {
                         return other.free == bins_[b].free && other.groups == bins_[b].groups;
                       });
  }

  std::span<const PackItem> items_;
  std::vector<PackBin> bins_;
  long steps_;
  std::vector<std::size_t> order_;
  std::vector<int> bin_;
};

}  // namespace

std::optional<std::vector<int>> pack(std::span<const PackItem> items, std::vector<PackBin> bins,
                                     bool* gave_up, long max_steps) {
  Search search(items, std::move(bins), max_steps);
  if (search.place(0)) return std::move(search).bins();
  if (gave_up != nullptr && search.gave_up()) *gave_up = true;
  return std::nullopt;
}

}  // namespace aqua::place
