// SPDX-License-Identifier: Apache-2.0
// The report for people.
#include <cstdio>

#include "kv_cache.hpp"
#include "report.hpp"

namespace aqua::example {

using nlohmann::json;

void print_summary(const json& report) {
  const auto gb = [&](const json& bytes) {
    return static_cast<double>(bytes.get<std::uint64_t>()) / 1e9;
  };
  const auto count = [&](const char* name) { return report.at(name).get<std::uint64_t>(); };
  const json& reclaim = report.at("reclaim_ms");
  const json &out = report.at("offloaded_bytes"), &in = report.at("fetched_bytes");
  std::printf(
      "\n%lu requests (%lu of them repeated), %lu tokens, %lu preemptions by %s, %lu of them by "
      "recomputation, in %.1f s\n",
      count("requests_done"), count("requests_repeated"), count("tokens"),
      count("preemptions") + count("recomputations"),
      report.at("policy").get<std::string>().c_str(), count("recomputations"),
      report.at("wall_seconds").get<double>());
  std::printf("  %-34s %8s %8s\n", "GB", "peer", "host");
  std::printf("  %-34s %8.2f %8.2f\n", "offloaded to", gb(out.at("peer")), gb(out.at("host")));
  std::printf("  %-34s %8.2f %8.2f\n", "fetched from, every word checked", gb(in.at("peer")),
              gb(in.at("host")));
  std::printf("  %-34s %8.2f\n", "evacuated", gb(report.at("evacuated_bytes")));
  std::printf("  %-34s %8.2f\n", "promoted", gb(report.at("promoted_bytes")));
  std::printf("in lent memory when reclaimed  %.2f GB; all processes used %.2f GB of memory\n",
              gb(report.at("peer_bytes_at_reclaim")), gb(report.at("memory_bytes_at_reclaim")));
  std::printf(
      "reclaims %lu: from the load report to each of %lu slabs: first %.1f ms, p50 %.1f ms, "
      "p99 %.1f ms, last %.1f ms\n",
      count("reclaims"), reclaim.at("slabs").get<std::uint64_t>(),
      reclaim.at("first").get<double>(), reclaim.at("p50").get<double>(),
      reclaim.at("p99").get<double>(), reclaim.at("max").get<double>());
  std::printf("evacuations %lu, promotions %lu, of these after the reclaim %lu\n",
              count("evacuations"), count("promotions"), count("promotions_after_reclaim"));
  std::printf("verified %.2f GB, mismatched %lu bytes\n", gb(report.at("verified_bytes")),
              count("mismatched_bytes"));
}

std::string describe_scaling(const Options& options, const Workload& work) {
  char text[640];
  (void)std::snprintf(
      text, sizeof text,
      "trace     %s: %zu requests, %lu prompt and %lu output tokens\n"
      "scaled    arrivals %.1fx faster, outputs x%.2g; prompts cut to %u tokens: %zu, outputs to "
      "%u: %zu\n"
      "          scheduled by %s%s, in slices of %u steps; a step takes %ld ms or more\n"
      "          %zu KiB of KV a token (7B MHA: 512), blocks of %zu KiB, caches of %zu MiB\n",
      work.source.c_str(), work.items.size(), work.prompt_tokens, work.output_tokens,
      work.arrivals_faster, work.output_scale, kMaxPromptTokens, work.prompts_cut, kMaxOutputTokens,
      work.outputs_cut, options.policy.c_str(),
      options.fallback ? " (fcfs while KV is in host memory)" : "", kSliceIterations,
      options.iteration.count(), CacheShape::kBlockBytes / CacheShape::kTokensPerBlock >> 10,
      CacheShape::kBlockBytes >> 10, kCacheBytes >> 20);
  return text;
}

}  // namespace aqua::example
