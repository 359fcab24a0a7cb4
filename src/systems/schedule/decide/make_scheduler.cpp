// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "aqua/schedule/scheduler.hpp"
#include "base/concat.hpp"
#include "systems/schedule/decide/auto_scheduler.hpp"
#include "systems/schedule/decide/queue_scheduler.hpp"
#include "systems/schedule/decide/slice_scheduler.hpp"
#include "systems/schedule/decide/vtc_scheduler.hpp"

namespace aqua::schedule {
namespace {

using Maker = std::unique_ptr<Scheduler> (*)(const SchedulerOptions&);

constexpr std::pair<std::string_view, Maker> makers[] = {
    {"auto",
     [](const SchedulerOptions& options) -> std::unique_ptr<Scheduler> {
       return std::make_unique<AutoScheduler>(options);
     }},
    {"las",
     [](const SchedulerOptions& options) -> std::unique_ptr<Scheduler> {
       return std::make_unique<SliceScheduler>(SliceScheduler::Rule::las, options);
     }},
    {"cfs",
     [](const SchedulerOptions& options) -> std::unique_ptr<Scheduler> {
       return std::make_unique<SliceScheduler>(SliceScheduler::Rule::cfs, options);
     }},
    {"fcfs",
     [](const SchedulerOptions& options) -> std::unique_ptr<Scheduler> {
       return std::make_unique<FcfsScheduler>(options);
     }},
    {"vtc",
     [](const SchedulerOptions& options) -> std::unique_ptr<Scheduler> {
       return std::make_unique<VtcScheduler>(options);
     }},
};

Result<void> check(const SchedulerOptions& options) {
  const auto wrong = [](const auto&... what) {
    return Error{Code::invalid_argument, concat("make_scheduler: ", what...)};
  };
  if (options.budget_tokens < 2) return wrong("budget_tokens is ", options.budget_tokens);
  if (options.slice_iterations == 0) return wrong("slice_iterations is 0");
  if (options.min_prefill_tokens == 0) return wrong("min_prefill_tokens is 0");
  if (options.block_tokens == 0) return wrong("block_tokens is 0");
  if (options.device_blocks == 0) return wrong("device_blocks is 0");
  if (std::uint64_t{options.device_blocks} * options.block_tokens > UINT32_MAX) {
    return wrong("device_blocks * block_tokens is more than 2^32 tokens");
  }
  const std::pair<const char*, double> costs[] = {
      {"recompute_seconds_per_token", options.recompute_seconds_per_token},
      {"swap_seconds_per_block", options.swap_seconds_per_block},
      {"peer_seconds_per_block", options.peer_seconds_per_block},
      {"host_seconds_per_block", options.host_seconds_per_block}};
  for (const auto& [name, cost] : costs) {
    if (!std::isfinite(cost) || cost < 0) return wrong(name, " is ", cost);
  }
  if (!(options.seconds_per_token >= 1e-9 && options.seconds_per_token <= 1e9)) {
    return wrong("seconds_per_token is ", options.seconds_per_token, ", not from 1e-9 to 1e9");
  }
  // Copies may cost nothing, as on paper they do; computing never does.
  if (options.preempt_by == PreemptBy::cheaper && options.recompute_seconds_per_token <= 0) {
    return wrong("preempt_by cheaper wants recompute_seconds_per_token, which is 0");
  }
  return {};
}

}  // namespace

std::vector<std::string> scheduler_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : makers) names.emplace_back(name);
  return names;
}

Result<std::unique_ptr<Scheduler>> make_scheduler(std::string_view name,
                                                  const SchedulerOptions& options) {
  if (auto checked = check(options); !checked.ok()) return std::move(checked).error();
  std::string known;
  for (const auto& [key, make] : makers) {
    if (key != name) {
      known.append(known.empty() ? "" : ", ").append(key);
      continue;
    }
    SchedulerOptions mine = options;
    mine.min_prefill_tokens = std::min(mine.min_prefill_tokens, mine.budget_tokens / 2);
    return make(mine);
  }
  return Error{Code::invalid_argument,
               concat("make_scheduler: no policy '", name, "'; there are ", known)};
}

}  // namespace aqua::schedule
