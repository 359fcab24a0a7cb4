// SPDX-License-Identifier: Apache-2.0
// The report for people.
#include <cstdio>

#include "kv_cache.hpp"
#include "show/gain.hpp"
#include "show/report.hpp"

namespace aqua::example {

using nlohmann::json;

namespace {

double gb(const json& bytes) {
  return static_cast<double>(bytes.get<std::uint64_t>()) / 1e9;
}

void print_gain(const json& comparison) {
  std::printf("\nThe same %lu requests          host memory alone   with lent memory\n",
              comparison.at("requests").get<std::uint64_t>());
  for (const GainRow& row : gain_rows(comparison)) {
    std::printf("  %-26s %18s %18s   %s\n", row.what.c_str(), row.host.c_str(), row.lent.c_str(),
                row.gain.c_str());
  }
}

void print_bytes(const json& report) {
  const json &out = report.at("offloaded_bytes"), &in = report.at("fetched_bytes");
  std::printf("\n  %-38s %14s %14s\n", "GB", "lent memory", "host memory");
  const auto row = [](const char* what, const json& of) {
    std::printf("  %-38s %14.2f %14.2f\n", what, gb(of.at("peer")), gb(of.at("host")));
  };
  row("preempted into", out);
  row("brought back from, every word checked", in);
  std::printf("  moved by a reclaim from lent to host memory %.2f GB, back later %.2f GB\n",
              gb(report.at("evacuated_bytes")), gb(report.at("promoted_bytes")));
}

}  // namespace

std::string reclaim_sentence(const json& report) {
  const json& reclaim = report.at("reclaim_ms");
  char text[160];
  (void)std::snprintf(
      text, sizeof text, "%s had its %lu MiB back %.0f ms after it asked, %s.",
      report.at("reclaimed_from").get<std::string>().c_str(),
      report.at("lent_bytes_at_reclaim").get<std::uint64_t>() >> 20,
      reclaim.at("max").get<double>(),
      report.at("leased_again").get<bool>() ? "and lent again" : "and lent no more");
  return text;
}

void print_summary(const json& report) {
  const auto count = [&](const char* name) { return report.at(name).get<std::uint64_t>(); };
  if (report.contains("comparison")) print_gain(report.at("comparison"));
  print_bytes(report);
  std::printf(
      "\n%lu requests after the comparison, of which %lu were sent again to keep the\n"
      "engines busy; %lu tokens; %lu preemptions by %s, %lu by recomputation; %.0f s\n",
      count("requests_done"), count("requests_repeated"), count("tokens"),
      count("preemptions") + count("recomputations"),
      report.at("policy").get<std::string>().c_str(), count("recomputations"),
      report.at("wall_seconds").get<double>());
  if (report.contains("comparison"))
    std::printf("\n%s\n", gain_sentence(report.at("comparison")).c_str());
  std::printf("%s\n%.1f GB were checked, %lu bytes wrong.\n", reclaim_sentence(report).c_str(),
              gb(report.at("verified_bytes")), count("mismatched_bytes"));
}

std::string describe_scaling(const Options& options, const Workload& work) {
  char text[640];
  (void)std::snprintf(
      text, sizeof text,
      "trace     %s\n"
      "          %zu requests, %lu prompt and %lu output tokens; arrivals %.1fx faster\n"
      "scaled    outputs x%.2g, cut to %u tokens: %zu; prompts cut to %u: %zu\n"
      "          %s%s, slices of %u steps of %ld ms or more\n"
      "          %zu KiB of KV a token (a 7B model: 512), caches of %zu MiB\n"
      "          host memory paced to %zu MB/s (0: not), lent memory %lu times that\n",
      work.source.c_str(), work.items.size(), work.prompt_tokens, work.output_tokens,
      work.arrivals_faster, work.output_scale, kMaxOutputTokens, work.outputs_cut, kMaxPromptTokens,
      work.prompts_cut, options.policy.c_str(),
      options.fallback ? " (fcfs while KV is in host memory)" : "", kSliceIterations,
      options.iteration.count(), CacheShape::kBlockBytes / CacheShape::kTokensPerBlock >> 10,
      kCacheBytes >> 20, options.host_link_mb_per_s, kPeerOverHost);
  return text;
}

}  // namespace aqua::example
