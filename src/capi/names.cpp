// SPDX-License-Identifier: Apache-2.0
// Numbers as words. Those of errors are beside the errors.
#include "capi/convert.hpp"

extern "C" {

// What to_string() gives is a literal, so it ends.
const char* aqua_tier_name(aqua_tier tier) {
  if (tier > AQUA_TIER_HOST) return "unknown";
  return aqua::to_string(static_cast<aqua::Tier>(tier)).data();
}
const char* aqua_budget_reason_name(aqua_budget_reason reason) {
  if (reason > AQUA_BUDGET_LOST) return "unknown";
  return aqua::to_string(static_cast<aqua::BudgetReason>(reason)).data();
}

}  // extern "C"
