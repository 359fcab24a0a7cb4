/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/capi/check.h"
#include "tests/capi/parts.h"

void test_errors_and_version(void) {
  char expected[32];
  snprintf(expected, sizeof expected, "%d.%d.%d", AQUA_VERSION_MAJOR, AQUA_VERSION_MINOR,
           AQUA_VERSION_PATCH);
  CHECK(strcmp(aqua_version_string(), expected) == 0);
  CHECK(aqua_version() == AQUA_VERSION_NUMBER);
  CHECK(aqua_has_feature("emulated") == 1);
  CHECK(aqua_has_feature("cuda") == 0 || aqua_has_feature("cuda") == 1);
  CHECK(aqua_has_feature("antigravity") == 0);
  CHECK(aqua_has_feature(NULL) == 0);

  CHECK(aqua_error_code(NULL) == AQUA_OK);
  CHECK(strcmp(aqua_error_message(NULL), "") == 0);
  aqua_error_free(NULL);
  CHECK(strcmp(aqua_code_name(AQUA_OK), "ok") == 0);
  CHECK(strcmp(aqua_code_name(AQUA_NOT_FOUND), "not_found") == 0);
  CHECK(strcmp(aqua_code_name(AQUA_INTERNAL), "internal") == 0);
  CHECK(strcmp(aqua_code_name(99), "unknown") == 0);
  CHECK(strcmp(aqua_tier_name(AQUA_TIER_LOCAL), "local") == 0);
  CHECK(strcmp(aqua_tier_name(AQUA_TIER_HOST), "host") == 0);
  CHECK(strcmp(aqua_tier_name(3), "unknown") == 0);
  CHECK(strcmp(aqua_budget_reason_name(AQUA_BUDGET_OPENED), "opened") == 0);
  CHECK(strcmp(aqua_budget_reason_name(AQUA_BUDGET_LOST), "lost") == 0);
  CHECK(strcmp(aqua_budget_reason_name(AQUA_BUDGET_LOST + 1), "unknown") == 0);

  const aqua_runtime none = {0};
  aqua_error* error = aqua_runtime_tick(none);
  CHECK(aqua_error_code(error) == AQUA_INVALID_ARGUMENT);
  CHECK(strstr(aqua_error_message(error), "aqua_runtime_tick") != NULL);
  aqua_error_free(error);
}
