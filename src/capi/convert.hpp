// SPDX-License-Identifier: Apache-2.0
// Small values, from C to C++ and back. Both sides give them the same numbers.
#pragma once

#include "aqua/c/northbound.h"
#include "aqua/c/types.h"
#include "aqua/northbound/load.hpp"
#include "aqua/types.hpp"

namespace aqua::capi {

static_assert(static_cast<aqua_tier>(Tier::local) == AQUA_TIER_LOCAL);
static_assert(static_cast<aqua_tier>(Tier::peer) == AQUA_TIER_PEER);
static_assert(static_cast<aqua_tier>(Tier::host) == AQUA_TIER_HOST);
static_assert(static_cast<aqua_budget_reason>(BudgetReason::opened) == AQUA_BUDGET_OPENED);
static_assert(static_cast<aqua_budget_reason>(BudgetReason::wanted) == AQUA_BUDGET_WANTED);
static_assert(static_cast<aqua_budget_reason>(BudgetReason::offered) == AQUA_BUDGET_OFFERED);
static_assert(static_cast<aqua_budget_reason>(BudgetReason::reclaimed) == AQUA_BUDGET_RECLAIMED);
static_assert(static_cast<aqua_budget_reason>(BudgetReason::granted) == AQUA_BUDGET_GRANTED);
static_assert(static_cast<aqua_budget_reason>(BudgetReason::revoked) == AQUA_BUDGET_REVOKED);
static_assert(static_cast<aqua_budget_reason>(BudgetReason::lost) == AQUA_BUDGET_LOST);

[[nodiscard]] inline aqua_tier to_c(Tier tier) noexcept {
  return static_cast<aqua_tier>(tier);
}
[[nodiscard]] inline Stream to_stream(aqua_stream stream) noexcept {
  return Stream{stream};
}
[[nodiscard]] inline aqua_memory_budget to_c(const MemoryBudget& budget) noexcept {
  return {sizeof(aqua_memory_budget), budget.engine_bytes,
          budget.lent_bytes,          budget.peer_bytes,
          budget.host_bytes,          static_cast<aqua_budget_reason>(budget.reason),
          budget.shared_bytes};
}

}  // namespace aqua::capi
