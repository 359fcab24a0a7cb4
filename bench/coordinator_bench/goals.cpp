// SPDX-License-Identifier: Apache-2.0
#include "coordinator_bench/goals.hpp"

#include <string>

namespace aqua::bench {
namespace {

using nlohmann::json;

constexpr double kRenewalMs = 5;
constexpr double kGrantMs = 5;  // beside twice the disk's own p99
constexpr double kRevocationMs = 10;
constexpr double kFlat = 1.5;  // dearest over cheapest: the spread of a busy machine included

json at_least(std::string what, double measured, double goal) {
  return {{"what", std::move(what)},
          {"measured", measured},
          {"at_least", goal},
          {"met", measured >= goal}};
}
json below(std::string what, double measured, double goal) {
  return {
      {"what", std::move(what)}, {"measured", measured}, {"below", goal}, {"met", measured < goal}};
}

// One that was not made cannot be late.
json none(std::string what, std::size_t measured) {
  return {{"what", std::move(what)}, {"measured", measured}, {"below", 1}, {"met", measured == 0}};
}

double share_of_bare(const std::string& what) {
  if (what == "renewals") return 0.7;
  return what == "lease_return" ? 0.5 : 0.3;
}

void of_open_loop(const json& open, json& goals) {
  const double disk = open["fdatasync"]["p99_ms"];
  goals.push_back(below("open loop: p99 of renewals, ms", open["renewals"]["p99_ms"], kRenewalMs));
  goals.push_back(below("open loop: p99 of durable grants, ms", open["durable_grants"]["p99_ms"],
                        2 * disk + kGrantMs));
  goals.push_back(
      below("open loop: p99 of revocations, ms", open["revocations"]["p99_ms"], kRevocationMs));
  goals.push_back(none("open loop: revocations not made in time", open["revocations_not_ready"]));
}

void of_scale(const json& scale, json& goals) {
  for (const auto& [by, kinds] : scale["spread"].items()) {
    for (const auto& [what, spread] : kinds.items())
      goals.push_back(below("cost " + by + ", dearest over cheapest: " + what, spread, kFlat));
  }
}

}  // namespace

json goals_of(const json& result) {
  json goals = json::array();
  if (result.contains("saturation")) {
    for (const json& row : result["saturation"]) {
      const std::string what = row["what"];
      goals.push_back(
          at_least("saturated over bare: " + what, row["over_bare"], share_of_bare(what)));
    }
  }
  if (result.contains("open_loop")) of_open_loop(result["open_loop"], goals);
  if (result.contains("fan_out")) {
    goals.push_back(
        below("fan-out: p99 of revocations, ms", result["fan_out"]["p99_ms"], kRevocationMs));
  }
  if (result.contains("scale")) of_scale(result["scale"], goals);
  return goals;
}

}  // namespace aqua::bench
