// SPDX-License-Identifier: Apache-2.0
// The names of what is compared: a scheduler of aqua/schedule, and how it pages.
//
//   fcfs, vtc, las, cfs, auto  page to the host, as +dram, where they must
//   cfs+dram                   gathered copies to host DRAM over PCIe
//   cfs+aqua                   gathered copies to a neighbour's memory over NVLink; host DRAM,
//                              and first come first served, when that is full
//   auto+aqua                  the same, and on to host DRAM by its own rule when that is full
//   cfs+free                   pages at no cost: the limit
//   cfs+aqua+blocks            as cfs+aqua, one copy per block and plane instead of gathering
//
// With fcfs alone, who preempts by dropping KV and computing it again:
//   fcfs+recompute             that and nothing else, vLLM's default
//   fcfs+pie                   layers of KV on the host, brought in while others compute
//   fcfs+pie+aqua              the same in a neighbour's memory; on the host when that is full
//   fcfs+ondemand              layers on the host, each fetched when its turn comes
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "aqua/types.hpp"
#include "tools/sim/engine/paging.hpp"

namespace aqua::sim {

enum class LayerMode : std::uint8_t { stay, overlapped, on_demand };

struct PolicyName {
  std::string name;
  std::string scheduler;
  PagingMethod method = PagingMethod::gathered;
  Tier tier = Tier::host;
  bool recompute = false;  // whatever preemption costs
  LayerMode layers = LayerMode::stay;
};

// invalid_argument lists what there is.
[[nodiscard]] Result<PolicyName> parse_policy(std::string_view name);
// Separated by commas; each once, at least one.
[[nodiscard]] Result<std::vector<PolicyName>> parse_policies(std::string_view list);

}  // namespace aqua::sim
