// SPDX-License-Identifier: Apache-2.0
// Small values, from C to C++ and back. Both sides give them the same numbers; of codes C has one
// more.
#pragma once

#include "aqua/c/error.h"
#include "aqua/c/northbound.h"
#include "aqua/c/types.h"
#include "aqua/layout.hpp"
#include "aqua/northbound/load.hpp"
#include "aqua/result.hpp"
#include "aqua/types.hpp"
#include "capi/call.hpp"

namespace aqua::capi {

// C codes are the C++ ones plus one, 0 being success.
[[nodiscard]] constexpr aqua_code to_c(Code code) noexcept {
  return static_cast<aqua_code>(code) + 1;
}
static_assert(to_c(Code::invalid_argument) == AQUA_INVALID_ARGUMENT);
static_assert(to_c(Code::not_found) == AQUA_NOT_FOUND);
static_assert(to_c(Code::already_exists) == AQUA_ALREADY_EXISTS);
static_assert(to_c(Code::failed_precondition) == AQUA_FAILED_PRECONDITION);
static_assert(to_c(Code::permission_denied) == AQUA_PERMISSION_DENIED);
static_assert(to_c(Code::resource_exhausted) == AQUA_RESOURCE_EXHAUSTED);
static_assert(to_c(Code::unavailable) == AQUA_UNAVAILABLE);
static_assert(to_c(Code::aborted) == AQUA_ABORTED);
static_assert(to_c(Code::deadline_exceeded) == AQUA_DEADLINE_EXCEEDED);
static_assert(to_c(Code::cancelled) == AQUA_CANCELLED);
static_assert(to_c(Code::data_loss) == AQUA_DATA_LOSS);
static_assert(to_c(Code::unimplemented) == AQUA_UNIMPLEMENTED);
static_assert(to_c(Code::internal) == AQUA_INTERNAL);

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
// Blocks as C names them. invalid_argument: more than the layout has, before any of them is read; a
// longer list names a block twice, or is shorter than it says.
[[nodiscard]] inline Result<BlockList> to_block_list(const char* what, const Layout& layout,
                                                     const std::uint32_t* blocks,
                                                     std::size_t count) {
  if (count == 0) return BlockList{};
  if (blocks == nullptr) return null_argument(what, "blocks");
  if (count <= layout.spec().block_count) return BlockList(blocks, count);
  return Error{Code::invalid_argument,
               concat(what, ": ", count, " blocks, the layout has ", layout.spec().block_count)};
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
