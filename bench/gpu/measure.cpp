// SPDX-License-Identifier: Apache-2.0
#include "gpu/measure.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "report/what_ran.hpp"
#include "samples.hpp"

namespace aqua::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPatience = 2'000'000'000;  // nanoseconds
constexpr std::size_t kQueueDepth = 900;            // commands that surely fit a stream's queue
constexpr std::uint64_t kClearSeed = 99;

// Rates of `s` and, of those that took turns, their ratios to `base`; keys begin with `prefix`.
void add_rates(nlohmann::json& row, const std::string& prefix, const Samples& s,
               const std::vector<double>& seconds, const Samples& base,
               const std::vector<double>& base_seconds) {
  auto pairs = ratios(base_seconds, seconds);
  for (double& pair : pairs) pair *= s.bytes / base.bytes;
  for (const auto& [name, q] : {std::pair{"median", 0.5}, {"p25", 0.25}, {"p75", 0.75}}) {
    row[prefix + "gbps_" + name] = s.bytes / quantile(seconds, 1 - q) / 1e9;
    row[prefix + "ratio_to_baseline_" + name] = quantile(pairs, q);
  }
  row[prefix + "seconds"] = seconds;
}

void print(const nlohmann::json& row, const std::string& way) {
  const auto number = [&](const char* key) { return row.value(key, 0.0); };
  std::printf(
      "%-10s %-8s %9zu  %-22s %8.2f GB/s (%8.2f to %8.2f)  %5.3f of %s%s; posted %8.2f GB/s, "
      "%5.3f\n",
      row.value("group", "").c_str(), row.value("direction", "").c_str(),
      row.value("block_bytes", std::size_t{0}), way.c_str(), number("gbps_median"),
      number("gbps_p25"), number("gbps_p75"), number("ratio_to_baseline_median"),
      row.value("baseline", "").c_str(), row.value("gated", true) ? "" : " (not gated)",
      number("posted_gbps_median"), number("posted_ratio_to_baseline_median"));
}

}  // namespace

Gate::Gate() : memory_(Where::host, sizeof(GateFlags)) {}

void Gate::close(cudaStream_t stream) {
  flags().open = 0;
  flags().gave_up = 0;
  must(hold(&flags(), kPatience, stream));
}

void Gate::open() {
  flags().open = 1;
}

std::vector<Samples> Meter::compare(const std::vector<Way>& ways) {
  std::vector<Samples> all;
  for (const Way& way : ways) {
    double bytes = 0;
    for (const BlockList* list : way.moves) bytes += static_cast<double>(list->bytes());
    all.push_back({.name = way.name, .bytes = bytes, .gated = way.commands <= kQueueDepth});
    static_cast<void>(verified(way, false));  // kernels are loaded while nothing waits
    if (all.back().gated) all.back().gated = time(way, true).held;
  }
  for (unsigned r = 0; r < repetitions_; ++r) {
    for (std::size_t w = 0; w < ways.size(); ++w) {
      const auto before = ways[w].counts ? ways[w].counts() : device::CopyCounts{};
      const Times idle = verified(ways[w], false);
      if (ways[w].counts) all[w].ran = ways[w].counts().since(before);
      all[w].posted.push_back(idle.posted);
      if (all[w].gated) {
        const Times behind = verified(ways[w], true);
        all[w].gated = behind.held;
        if (behind.held) all[w].seconds.push_back(behind.events);
        if (!behind.held) all[w].seconds = all[w].ungated;  // one kind in a row
      }
      all[w].ungated.push_back(idle.events);
      if (!all[w].gated) all[w].seconds.push_back(idle.events);
      if (ways[w].chosen) all[w].chosen = ways[w].chosen();
    }
  }
  return all;
}

Meter::Times Meter::time(const Way& way, bool gated) {
  const auto begin = Clock::now();  // what is prepared is waited for as well
  if (way.prepare) way.prepare();
  if (gated) gate_.close(stream_.get());
  start_.record(stream_.get());
  way.queue(stream_.get());
  stop_.record(stream_.get());
  if (gated) gate_.open();
  stream_.synchronize();
  const double posted = std::chrono::duration<double>(Clock::now() - begin).count();
  if (way.finish) way.finish();
  return {stop_.seconds_since(start_), posted, !gated || gate_.held()};
}

Meter::Times Meter::verified(const Way& way, bool gated) {
  clear(way);
  const Times times = time(way, gated);
  verify(way);
  return times;
}

void Meter::clear(const Way& way) {
  for (const auto area : way.cleared) {
    must(fill(area.data(), area.size(), kClearSeed, stream_.get()));
  }
  stream_.synchronize();
}

void Meter::verify(const Way& way) {
  const Buffer counter(Where::host, sizeof(unsigned long long));
  auto* words = reinterpret_cast<unsigned long long*>(counter.data());
  *words = 0;
  for (const BlockList* list : way.moves) {
    must(count_differences(list->launch().segments, list->launch().count, words, stream_.get()));
  }
  stream_.synchronize();
  if (*words == 0) return;
  std::fprintf(stderr, "gpu_bench: %s: %llu words are wrong\n", way.name.c_str(), *words);
  std::exit(1);
}

nlohmann::json rows(const std::vector<Samples>& all, const nlohmann::json& labels) {
  nlohmann::json result = nlohmann::json::array();
  const Samples& base = all.front();
  for (const Samples& s : all) {
    nlohmann::json row = labels;
    row["way"] = s.name;
    if (!s.chosen.empty()) row["chosen"] = s.chosen;
    if (s.ran) row["ran"] = to_json(*s.ran);
    row["bytes"] = s.bytes;
    row["gated"] = s.gated;
    row["repetitions"] = s.seconds.size();
    row["baseline"] = base.name;
    add_rates(row, "", s, s.seconds, base, base.seconds);
    add_rates(row, "posted_", s, s.posted, base, base.posted);
    print(row, s.chosen.empty() ? s.name : s.name + ": " + s.chosen);
    result.push_back(std::move(row));
  }
  std::fflush(stdout);
  return result;
}

}  // namespace aqua::bench
