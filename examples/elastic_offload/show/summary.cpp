// SPDX-License-Identifier: Apache-2.0
// The report for people.
#include <sstream>

#include "cache_shape.hpp"
#include "show/expansion.hpp"
#include "show/gain.hpp"
#include "show/report.hpp"
#include "show/text.hpp"
#include "tools/report/text.hpp"

namespace aqua::example {

using nlohmann::json;

namespace {

constexpr std::size_t kColumns = 79;  // a terminal's, less the one that would break the line

double gb(const json& bytes) {
  return static_cast<double>(bytes.get<std::uint64_t>()) / 1e9;
}

std::string wrapped(const std::string& sentence) {
  return report::wrapped(sentence, kColumns) + "\n";
}

std::string also(const std::string& sentence) {
  return sentence.empty() ? "" : wrapped(sentence);
}

std::string expansion_line(const Options& options) {
  if (!options.expansion.on()) return "";
  return "          layers over frames: " + to_string(options.expansion) +
         (options.hostile_device() ? ", on hostile GPUs\n" : "\n");
}

std::string gain(const json& comparison) {
  const std::string what =
      text("The same %lu requests", comparison.at("requests").get<std::uint64_t>());
  std::string out =
      text("\n%-28s %17s %16s\n", what.c_str(), "host memory alone", "with lent memory");
  for (const GainRow& row : gain_rows(comparison)) {
    out += text("  %-26s %17s %16s   %s\n", row.what.c_str(), row.host.c_str(), row.lent.c_str(),
                row.gain.c_str());
  }
  return out;
}

std::string sharing(const json& report) {
  std::istringstream lines(sharing_text(report.at("switched_to").get<Switches>()));
  std::string out;
  for (std::string line; std::getline(lines, line);) out += wrapped("  " + line);
  return out;
}

std::string bytes(const json& report) {
  std::string out = text("\n  %-38s %14s %14s\n", "GB", "lent memory", "host memory");
  const auto row = [&out](const char* what, const json& of) {
    out += text("  %-38s %14.2f %14.2f\n", what, gb(of.at("peer")), gb(of.at("host")));
  };
  row("preempted into", report.at("offloaded_bytes"));
  row("brought back from, every word checked", report.at("fetched_bytes"));
  return out + text("  moved by a reclaim from lent to host memory %.2f GB, back later %.2f GB\n",
                    gb(report.at("evacuated_bytes")), gb(report.at("promoted_bytes")));
}

}  // namespace

std::string reclaim_sentence(const json& report) {
  const json& reclaim = report.at("reclaim_ms");
  return text("%s had its %lu MiB back %.0f ms after it asked, %s.",
              report.at("reclaimed_from").get<std::string>().c_str(),
              report.at("lent_bytes_at_reclaim").get<std::uint64_t>() >> 20,
              reclaim.at("max").get<double>(),
              report.at("leased_again").get<bool>() ? "and lent again" : "and lent no more");
}

std::string summary(const json& report) {
  const auto count = [&](const char* name) { return report.at(name).get<std::uint64_t>(); };
  const bool compared = report.contains("comparison");
  std::string out = compared ? gain(report.at("comparison")) : "";
  out += bytes(report) + "\n" +
         wrapped(text("%lu requests after the comparison, of which %lu were sent again to keep the "
                      "engines busy; %lu tokens; %lu preemptions by %s, %lu by recomputation; "
                      "%.0f s",
                      count("requests_done"), count("requests_repeated"), count("tokens"),
                      count("preemptions") + count("recomputations"),
                      report.at("policy").get<std::string>().c_str(), count("recomputations"),
                      report.at("wall_seconds").get<double>())) +
         sharing(report);
  if (compared) out += "\n" + wrapped(gain_sentence(report.at("comparison")));
  return out + wrapped(reclaim_sentence(report)) + also(expansion_sentence(report)) +
         also(death_sentence(report)) + frames_lines(report) +
         text("%.1f GB were checked, %lu bytes wrong; %lu requests lost.\n",
              gb(report.at("verified_bytes")), count("mismatched_bytes"), count("requests_lost"));
}

std::string describe_scaling(const Options& options, const Workload& work) {
  return text(
      "trace     %s\n"
      "          %zu requests; arrivals %.1fx faster\n"
      "          %lu prompt and %lu output tokens\n"
      "scaled    outputs x%.2g, cut to %u tokens: %zu; prompts cut to %u: %zu\n"
      "          %s%s\n"
      "          slices of %u steps of %ld ms or more\n"
      "          %zu KiB of KV a token (a 7B model: 512), caches of %zu MiB\n"
      "%s"
      "          host memory paced to %zu MB/s (0: not), lent memory %lu times that\n",
      work.source.c_str(), work.items.size(), work.arrivals_faster, work.prompt_tokens,
      work.output_tokens, work.output_scale, kMaxOutputTokens, work.outputs_cut, kMaxPromptTokens,
      work.prompts_cut, options.policy.c_str(),
      options.fallback ? " (fcfs while KV is in host memory)" : "", kSliceIterations,
      options.iteration.count(), CacheShape::kBlockBytes / CacheShape::kTokensPerBlock >> 10,
      (options.expansion.on() ? kLayeredBytes : kCacheBytes) >> 20, expansion_line(options).c_str(),
      options.host_link_mb_per_s, kPeerOverHost);
}

}  // namespace aqua::example
