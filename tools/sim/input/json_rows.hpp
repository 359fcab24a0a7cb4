// SPDX-License-Identifier: Apache-2.0
// Lists of rows of numbers, as recordings have them.
#pragma once

#include <array>
#include <cstddef>

#include "base/json_object.hpp"

namespace aqua::sim {

// Calls `take` with each row of `count` numbers from 0 to `limit` under this key; object.fail() for
// any other row.
template <std::size_t count, typename Take>
void read_rows(JsonObject& object, const char* key, double limit, Take take) {
  constexpr std::size_t kMostRows = 10'000'000;
  const nlohmann::json* all = object.take(key);
  if (all == nullptr) return;
  if (!all->is_array() || all->size() > kMostRows) return object.fail(concat(key, " is no list"));
  for (std::size_t i = 0; i < all->size(); ++i) {
    const nlohmann::json& row = (*all)[i];
    std::array<double, count> values{};
    bool good = row.is_array() && row.size() == count;
    for (std::size_t k = 0; good && k < count; ++k) {
      good = row[k].is_number();
      if (good) values[k] = row[k].get<double>();
      good = good && values[k] >= 0 && values[k] <= limit;
    }
    if (!good) {
      return object.fail(concat(key, " row ", i, " is not ", count, " numbers from 0 to ", limit));
    }
    take(values);
  }
}

}  // namespace aqua::sim
