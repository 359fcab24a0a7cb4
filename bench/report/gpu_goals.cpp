// SPDX-License-Identifier: Apache-2.0
#include "report/gpu_goals.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "report/goal.hpp"

namespace aqua::bench {
namespace {

using nlohmann::json;

constexpr double kLeastBytes = double{1U << 30U};
constexpr std::size_t kKiB = 1024;

struct Sizes {
  const char* text;
  std::size_t first, last;  // bytes of a block, doubling
};
constexpr Sizes kHbm{"blocks of 4 KiB to 1 MiB", 4 * kKiB, 1024 * kKiB};
constexpr Sizes kFar{"blocks of 16 KiB to 2 MiB", 16 * kKiB, 2048 * kKiB};
constexpr Sizes kSmall{"blocks of 16 KiB", 16 * kKiB, 16 * kKiB};

struct Timing {
  const char* text;
  const char* rate;   // of a row: GB/s
  const char* ratio;  // of a row: to the bulk copy, of rounds that took turns
};
constexpr Timing kPosted{"with posting", "posted_gbps_median", "posted_ratio_to_baseline_median"};
constexpr Timing kAhead{"queued ahead", "gbps_median", "ratio_to_baseline_median"};

enum class Who : unsigned char { best, chosen, kernel };
constexpr Who kLibrary[]{Who::best, Who::chosen};

const char* name_of(Who who) {
  switch (who) {
    case Who::best:
      return "the library's best way";
    case Who::chosen:
      return "the library's choice";
    case Who::kernel:
      break;
  }
  return "the faster kernel alone";
}

// What one goal is judged by.
struct Part {
  const json& rows;
  const char* group;
  const char* direction;
};

bool is_of(const json& row, const Part& part, std::size_t block) {
  return row.value("group", "") == part.group && row.value("direction", "") == part.direction &&
         row.value("block_bytes", std::size_t{0}) == block;
}

// The highest of the rows whose way `fits`; none where there is no such row.
template <typename Fits>
std::optional<double> highest(const Part& part, std::size_t block, const char* figure, Fits fits) {
  std::optional<double> most;
  for (const json& row : part.rows) {
    if (!is_of(row, part, block) || !fits(row.value("way", "")) || !row.contains(figure)) continue;
    if (row.value("bytes", 0.0) < kLeastBytes) continue;
    if (!went_as_asked(row.value("ran", json::object()))) continue;
    most = std::max(most.value_or(0), row[figure].get<double>());
  }
  return most;
}

auto ways_of(Who who) {
  return [who](const std::string& way) {
    switch (who) {
      case Who::best:
        return way.starts_with("library ");
      case Who::chosen:
        return way == "library";
      case Who::kernel:
        break;
    }
    return way == "kernel blocks vector" || way == "kernel blocks bulk";  // which it launches
  };
}

// The worst over the sizes of `one(block)`; none where any is missing.
template <typename One>
std::optional<double> worst(const Sizes& sizes, One one) {
  std::optional<double> least;
  for (std::size_t block = sizes.first; block <= sizes.last; block *= 2) {
    const std::optional<double> here = one(block);
    if (!here) return std::nullopt;
    least = std::min(least.value_or(*here), *here);
  }
  return least;
}

std::optional<double> over_bulk(const Part& part, const Sizes& sizes, Who who, const Timing& time) {
  return worst(sizes,
               [&](std::size_t block) { return highest(part, block, time.ratio, ways_of(who)); });
}

std::optional<double> over_each(const Part& part, const Sizes& sizes, Who who, const Timing& time) {
  return worst(sizes, [&](std::size_t block) -> std::optional<double> {
    const auto ours = highest(part, block, time.rate, ways_of(who));
    const auto each =
        highest(part, block, time.rate, [](const std::string& way) { return way == "each"; });
    if (!ours || !each) return std::nullopt;
    return *ours / *each;
  });
}

using Measure = std::optional<double> (*)(const Part&, const Sizes&, Who, const Timing&);

// What a goal is held to: the worst over the sizes of this ratio.
struct Ratio {
  const char* over;
  Measure measure;
};
constexpr Ratio kOverBulk{"one bulk copy", over_bulk};
constexpr Ratio kOverEach{"cudaMemcpyAsync per block", over_each};

void add(json& goals, const Part& part, const Sizes& sizes, const Ratio& ratio, double limit,
         Who who, const Timing& time) {
  if (std::ranges::none_of(part.rows,
                           [&](const json& r) { return r.value("group", "") == part.group; }))
    return;
  const std::string text = std::string(part.group) + " " + part.direction + ", " + sizes.text +
                           ", over " + ratio.over + ", " + name_of(who) + ", " + time.text;
  goals.push_back(judge(text, Bound::at_least, limit, ratio.measure(part, sizes, who, time)));
}

}  // namespace

json gpu_goals(const json& rows) {
  json goals = json::array();
  const auto of_library = [&](const Part& part, const Sizes& sizes, double limit) {
    for (const Timing& time : {kPosted, kAhead})
      for (const Who who : kLibrary) add(goals, part, sizes, kOverBulk, limit, who, time);
  };
  const auto of_kernels = [&](const Part& part, const Sizes& sizes) {
    add(goals, part, sizes, kOverBulk, 0.90, Who::kernel, kAhead);
  };
  for (const char* direction : {"gather", "scatter"}) {
    of_library({rows, "hbm", direction}, kHbm, 0.90);
    of_kernels({rows, "hbm", direction}, kHbm);
  }
  for (const char* direction : {"offload", "fetch", "both"}) {
    of_library({rows, "host", direction}, kFar, 0.95);
    for (const Who who : kLibrary)
      add(goals, {rows, "host", direction}, kSmall, kOverEach, 5, who, kPosted);
  }
  of_library({rows, "slab", "offload"}, kFar, 0.90);
  of_kernels({rows, "slab", "offload"}, kFar);
  return goals;
}

}  // namespace aqua::bench
