// SPDX-License-Identifier: Apache-2.0
#include "report/layer_pool_goals.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "report/goal.hpp"

namespace aqua::bench {
namespace {

using nlohmann::json;

constexpr double kLeastSlowdown = 1.5;  // of a fetch, by a stream that takes half of the link

json rows_of(const json& rows, const char* part) {
  json some = json::array();
  for (const json& row : rows) {
    if (row["part"] == part) some.push_back(row);
  }
  return some;
}

// A row's number, or the median of its summary.
std::optional<double> number(const json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  if (found->is_object()) return number(*found, "median");
  return std::nullopt;
}

// The greatest of all rows; none where one of them has none.
std::optional<double> greatest(const json& rows, const char* key) {
  std::optional<double> most;
  for (const json& row : rows) {
    const auto value = number(row, key);
    if (!value) return std::nullopt;
    most = std::max(most.value_or(*value), *value);
  }
  return most;
}

std::optional<double> difference(const json& row, const char* of, const char* less) {
  const auto left = number(row, of), right = number(row, less);
  if (!left || !right) return std::nullopt;
  return *left - *right;
}

void judge_steps(const json& rows, json& goals) {
  for (const json& row : rows_of(rows, "step")) {
    goals.push_back(judge("step over all-resident, copies at 0.9 of compute", Bound::at_most, 1.05,
                          number(row, "ratio")));
    goals.push_back(judge("bytes written back over bytes fetched", Bound::at_most, 0.05,
                          number(row, "written_over_fetched")));
    goals.push_back(judge("microseconds of the host for each streamed layer", Bound::at_most, 20,
                          number(row, "host_us_per_streamed_layer")));
  }
  for (const json& row : rows_of(rows, "on_demand")) {
    goals.push_back(judge("step on demand over all-resident, the same copies", Bound::at_least, 1.5,
                          number(row, "ratio")));
  }
}

void judge_graphs(const json& rows, json& goals) {
  for (const json& row : rows_of(rows, "graphs")) {
    goals.push_back(judge("words that kernels in replayed graphs found wrong", Bound::at_most, 0,
                          number(row, "wrong_words")));
  }
}

std::string link_of(const json& row) {
  const auto mb = static_cast<std::int64_t>(number(row, "link_bytes_per_second").value_or(0) / 1e6);
  return "link of " + std::to_string(mb) + " MB/s";
}

void judge_links(const json& rows, json& goals) {
  for (const json& row : rows_of(rows, "links")) {
    auto apart = difference(row, "measured_frames", "reckoned_frames");
    if (apart) apart = std::abs(*apart);
    goals.push_back(judge(link_of(row) + ": least frames without stalls, away from those reckoned",
                          Bound::at_most, 1, apart));
  }
}

// None where neither was without stalls with fewer frames than layers, which compares nothing.
std::optional<double> fewer_frames(const json& row, const char* of, const char* less) {
  const auto layers = number(row, "layers");
  if (!layers || (number(row, of) == layers && number(row, less) == layers)) return std::nullopt;
  return difference(row, of, less);
}

void judge_schedules(const json& rows, json& goals) {
  for (const json& row : rows_of(rows, "schedules")) {
    goals.push_back(judge(link_of(row) + ": frames without stalls by `fixed`, less those by `fifo`",
                          Bound::at_most, 0, fewer_frames(row, "fixed_frames", "fifo_frames")));
    auto apart = fewer_frames(row, "fifo_frames", "replayed_fifo_frames");
    if (apart) apart = std::abs(*apart);
    goals.push_back(judge(link_of(row) + ": frames without stalls by `fifo`, away from its replay",
                          Bound::at_most, 1, apart));
  }
}

void judge_adaptive(const json& rows, json& goals) {
  for (const json& row : rows_of(rows, "adaptive")) {
    const std::string shape = "adaptive, " + row.value("shape", "");
    goals.push_back(judge(shape + ": tokens a second over the best fixed frames", Bound::at_least,
                          0.98, number(row, "ratio")));
    goals.push_back(judge(shape + ": steps from the last change of frames to the first full pool",
                          Bound::at_least, 0, difference(row, "filled_step", "converged_step")));
  }
}

// Whether the load took as much of the link as it was to: a fetch takes twice as long by half of
// it.
bool was_loaded(const json& row) {
  return number(row, "fetch_slowdown").value_or(0) >= kLeastSlowdown;
}

// Whether there were more frames after the load than count as back.
bool has_grown(const json& row) {
  const auto more = difference(row, "frames_after", "frames_before");
  return more && *more > 1;
}

// A load that the link did not feel tells nothing, nor does a moment in which no step stalled, nor
// a return of frames that were never away.
void judge_loads(const json& rows, json& goals) {
  if (const json halved = rows_of(rows, "halved"); !halved.empty()) {
    const bool loaded = std::ranges::all_of(halved, was_loaded);
    goals.push_back(judge("half of the link taken: steps until stalls are gone", Bound::at_most, 50,
                          loaded ? greatest(halved, "gone_after_steps") : std::nullopt));
    const bool grown = loaded && std::ranges::all_of(halved, has_grown);
    goals.push_back(
        judge("the link free again: steps until frames are as few as before, or one more",
              Bound::at_most, 100, grown ? greatest(halved, "back_after_steps") : std::nullopt));
  }
  if (const json burst = rows_of(rows, "burst"); !burst.empty()) {
    const bool stalled = std::ranges::all_of(burst, [](const json& row) {
      return was_loaded(row) && number(row, "stalled_steps").value_or(0) > 0;
    });
    goals.push_back(judge("half of the link taken for a moment: changes of frames", Bound::at_most,
                          0, stalled ? greatest(burst, "changes") : std::nullopt));
  }
}

void judge_memory(const json& rows, json& goals) {
  for (const json& row : rows_of(rows, "memory")) {
    goals.push_back(judge("goal `memory`: throughput over all-resident", Bound::at_least, 0.98,
                          number(row, "throughput")));
    goals.push_back(judge("goal `memory`: times fewer bytes, the rest held by another process",
                          Bound::at_least, 1.67, number(row, "bytes_ratio")));
  }
}

}  // namespace

json layer_pool_goals(const json& rows) {
  json goals = json::array();
  judge_graphs(rows, goals);
  judge_steps(rows, goals);
  judge_links(rows, goals);
  judge_schedules(rows, goals);
  judge_adaptive(rows, goals);
  judge_loads(rows, goals);
  judge_memory(rows, goals);
  return goals;
}

}  // namespace aqua::bench
