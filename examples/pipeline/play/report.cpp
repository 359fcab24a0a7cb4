// SPDX-License-Identifier: Apache-2.0
#include "play/report.hpp"

#include <chrono>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

namespace aqua::pipeline {
namespace {

using nlohmann::json;

constexpr std::size_t kUndisturbed = 1;  // of runs that are compared

json pipelines_of(const Options& options) {
  if (!options.prefill) return {{kColocated, to_string(options.colocated)}};
  return {{kPrefill, to_string(*options.prefill)}, {kDecode, to_string(*options.decode)}};
}

json told(const std::vector<Reckoning>& all) {
  json made = json::array();
  for (const Reckoning& each : all) {
    made.push_back({{"link_bytes_per_second", each.costs.link_bytes_per_second},
                    {"prefill_seconds_per_token", each.costs.prefill_seconds_per_token},
                    {"copies_measured", each.copies_measured},
                    {"computing_measured", each.computing_measured},
                    {"sequences_read", each.sequences_read},
                    {"sequences_computed", each.sequences_computed},
                    {"seconds", each.seconds},
                    {"seconds_if_read", each.seconds_if_read},
                    {"seconds_if_computed", each.seconds_if_computed}});
  }
  return made;
}

// Seconds from each to the next; null where the one or the other was not seen.
json told(const std::vector<Interruption>& all, Interruption::Time began) {
  json made = json::array();
  for (const Interruption& each : all) {
    std::optional<Interruption::Time> last = began;
    const auto after = [&last](const std::optional<Interruption::Time>& at) {
      const auto since = std::exchange(last, at);
      if (!at || !since) return json();
      return json(std::chrono::duration<double>(*at - *since).count());
    };
    json phases{{"pipeline", each.pipeline}, {"stage", each.stage}};
    phases["died_after"] = after(each.died);
    phases["noticed_after"] = after(each.noticed);
    phases["surveyed_after"] = after(each.surveyed);
    phases["restored_after"] = after(each.restored);
    phases["resumed_after"] = after(each.resumed);
    phases["next_token_after"] = after(each.next_token);
    made.push_back(std::move(phases));
  }
  return made;
}

json told(const std::optional<double>& seconds) {
  return seconds ? json(*seconds) : json();
}

// Mean latency in `run` of the requests that were interrupted in `disturbed`.
std::optional<double> latency_of_interrupted(const Served& disturbed, const Served& run) {
  return mean_latency(run.latencies, disturbed.interrupted);
}

json told(const std::vector<HostTraffic>& all) {
  json made = json::array();
  for (const HostTraffic& each : all) {
    made.push_back({{"name", each.name},
                    {"lost", each.lost},
                    {"sent_bytes", each.sent},
                    {"received_bytes", each.received},
                    {"kv_to_send_bytes", each.kv_to_send},
                    {"connections_over_tls", each.carriers.tls},
                    {"connections_over_ucx", each.carriers.ucx}});
  }
  return made;
}

}  // namespace

std::size_t equal_answers(const Served& many, const Served& one) {
  std::size_t equal = 0;
  for (const auto& [sequence, answer] : one.answers)
    equal += many.answers.at(sequence) == answer ? 1U : 0U;
  return equal;
}

json as_json(const Options& options, const std::vector<Run>& runs, const Served& one) {
  const Served& many = runs.front().served;
  json all{{"pipelines", pipelines_of(options)},
           {"requests", one.answers.size()},
           {"tokens", many.tokens},
           {"equal_answers", equal_answers(many, one)},
           {"seconds", many.seconds},
           {"seconds_of_one_process", one.seconds},
           {"latency_seconds", mean_latency(many.latencies)},
           {"interrupted_requests", many.interrupted.size()},
           {"interrupted_latency_seconds", told(latency_of_interrupted(many, many))},
           {"recoveries", many.recoveries},
           {"deaths", many.deaths},
           {"recovery_seconds", many.recovery_seconds},
           {"tokens_computed_again", many.computed_again},
           {"tokens_restored", many.restored},
           {"reckonings", told(many.reckonings)},
           {"interruptions", told(many.interruptions, many.began)},
           {"silent", many.silent},
           {"coordinator_deaths", many.coordinator_deaths},
           {"coordinator_stops", many.coordinator_stops},
           {"keeper_deaths", many.keeper_deaths},
           {"keeper_stops", many.keeper_stops},
           {"prompts_given_again", many.prompts_again},
           {"segments_left", many.segments_left ? json(*many.segments_left) : json()},
           {"not_looked", many.not_looked}};
  if (!many.hosts.empty()) all["hosts"] = told(many.hosts);
  for (const Run& each : runs) {
    if (runs.size() == 1) break;
    const Served& served = each.served;
    all["compared"][each.name] = {
        {"seconds", served.seconds},
        {"latency_seconds", mean_latency(served.latencies)},
        {"interrupted_requests", served.interrupted.size()},
        {"interrupted_latency_seconds", told(latency_of_interrupted(served, served))},
        {"the_same_undisturbed_latency_seconds",
         told(latency_of_interrupted(served, runs[kUndisturbed].served))},
        {"interruptions", told(served.interruptions, served.began)},
        {"deaths", served.deaths},
        {"tokens_restored", served.restored},
        {"tokens_computed_again", served.computed_again},
        {"recovery_seconds", served.recovery_seconds}};
  }
  return all;
}

std::vector<std::string> as_lines(const std::vector<Run>& runs, const Served& one) {
  const Served& many = runs.front().served;
  std::vector<std::string> lines;
  if (many.recoveries > 0) {
    lines.push_back(
        "recovered " + std::to_string(many.recoveries) + " times, in " +
        std::to_string(many.recovery_seconds) + " s at most, by reading " +
        std::to_string(many.restored) + " tokens from replicas and computing " +
        std::to_string(many.computed_again) + " again" +
        (many.silent > 0 ? "; " + std::to_string(many.silent) + " had been silent for long" : ""));
  }
  if (many.keeper_deaths > 0) {
    lines.push_back("the keeper died " + std::to_string(many.keeper_deaths) + " times; " +
                    std::to_string(many.prompts_again) + " prompts were given again");
  }
  if (runs.size() > 1) {
    const Served& undisturbed = runs[kUndisturbed].served;
    for (const Run& each : runs) {
      const double seconds = mean_latency(each.served.latencies);
      std::ostringstream line;
      line << std::left << std::setw(18) << each.name << std::fixed << std::setprecision(3)
           << seconds << " s a request, " << std::setprecision(2)
           << seconds / mean_latency(undisturbed.latencies) << " of undisturbed";
      const auto interrupted = latency_of_interrupted(each.served, each.served);
      const auto same = latency_of_interrupted(each.served, undisturbed);
      if (interrupted && same) {
        line << "; " << *interrupted / *same << " for the " << each.served.interrupted.size()
             << " that were interrupted";
      }
      lines.push_back(line.str());
    }
  }
  lines.push_back(std::to_string(one.answers.size()) + " requests, " + std::to_string(many.tokens) +
                  " tokens: " + std::to_string(equal_answers(many, one)) +
                  " answers are those of one process");
  return lines;
}

}  // namespace aqua::pipeline
