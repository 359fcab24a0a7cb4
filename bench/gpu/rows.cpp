// SPDX-License-Identifier: Apache-2.0
#include "gpu/rows.hpp"

#include <cstdio>
#include <utility>

#include "report/what_ran.hpp"
#include "samples.hpp"

namespace aqua::bench {
namespace {

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

nlohmann::json rows(const std::vector<Samples>& all, const nlohmann::json& labels) {
  nlohmann::json result = nlohmann::json::array();
  const Samples& base = all.front();
  for (const Samples& s : all) {
    nlohmann::json row = labels;
    row["way"] = s.name;
    if (!s.chosen.empty()) row["chosen"] = s.chosen;
    if (s.ran) row["ran"] = to_json(*s.ran);
    row["bytes"] = s.bytes;
    const bool gated = s.gated && base.gated;
    const std::vector<double>& seconds = gated ? s.seconds : s.ungated;
    row["gated"] = gated;
    row["repetitions"] = seconds.size();
    row["baseline"] = base.name;
    add_rates(row, "", s, seconds, base, gated ? base.seconds : base.ungated);
    add_rates(row, "posted_", s, s.posted, base, base.posted);
    print(row, s.chosen.empty() ? s.name : s.name + ": " + s.chosen);
    result.push_back(std::move(row));
  }
  std::fflush(stdout);
  return result;
}

}  // namespace aqua::bench
