// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/input/policy_name.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "aqua/schedule/scheduler.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/report/text.hpp"

namespace aqua::sim {

namespace {

constexpr std::array<std::string_view, 4> kRecomputing{"recompute", "pie", "pie+aqua", "ondemand"};

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

Result<PolicyName> parse_policy(std::string_view name) {
  const std::vector<std::string> schedulers = schedule::scheduler_names();
  PolicyName policy{.name = std::string(name), .scheduler = {}};
  const std::size_t plus = name.find('+');
  policy.scheduler = name.substr(0, plus);
  const std::string_view paging = plus == name.npos ? "dram" : name.substr(plus + 1);
  bool known =
      std::find(schedulers.begin(), schedulers.end(), policy.scheduler) != schedulers.end();
  policy.recompute = policy.scheduler == "fcfs" && is_one_of(paging, kRecomputing);
  if (policy.recompute) {
    if (paging == "pie+aqua") policy.tier = Tier::peer;
    if (paging.starts_with("pie")) policy.layers = LayerMode::overlapped;
    if (paging == "ondemand") policy.layers = LayerMode::on_demand;
  } else if (paging == "aqua" || paging == "aqua+blocks") {
    policy.tier = Tier::peer;
  } else if (paging == "free") {
    policy.tier = Tier::peer;
    policy.method = PagingMethod::free;
  } else {
    known = known && (paging == "dram" || paging == "dram+blocks");
  }
  if (paging.ends_with("+blocks")) policy.method = PagingMethod::per_block;
  if (known) return policy;
  std::string all;
  for (const std::string& scheduler : schedulers) all += concat(all.empty() ? "" : "|", scheduler);
  return Error{Code::invalid_argument,
               concat("unknown policy ", report::shown(name), ": expected ", all,
                      " alone or with +dram, +aqua, +free; +dram+blocks "
                      "and +aqua+blocks copy block by block; fcfs also with +recompute, +pie, "
                      "+pie+aqua, +ondemand")};
}

Result<std::vector<PolicyName>> parse_policies(std::string_view list) {
  std::vector<std::string_view> names;
  report::split_columns(list, names);
  std::vector<PolicyName> policies;
  for (const std::string_view name : names) {
    for (const PolicyName& earlier : policies) {
      if (earlier.name == name) {
        return Error{Code::invalid_argument,
                     concat("policy ", report::shown(name), " is named twice")};
      }
    }
    AQUA_ASSIGN(PolicyName policy, parse_policy(name));
    policies.push_back(std::move(policy));
  }
  return policies;
}

}  // namespace aqua::sim
