/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tests/capi/check.h"
#include "tests/capi/parts.h"

struct told_budgets {
  int budgets;
  aqua_memory_budget last;
  aqua_runtime runtime;
};

static void note_budget(void* user, const aqua_memory_budget* budget) {
  struct told_budgets* told = user;
  ++told->budgets;
  told->last = *budget;
  /* They may call the runtime; closing it they are refused. */
  aqua_runtime_status status = AQUA_RUNTIME_STATUS_INIT;
  OK(aqua_runtime_get_status(told->runtime, &status));
  FAILS(AQUA_FAILED_PRECONDITION, aqua_runtime_close(told->runtime));
}

void test_northbound(const char* directory) {
  struct told_budgets told = {0};
  aqua_callbacks callbacks = AQUA_CALLBACKS_INIT;
  callbacks.user = &told;
  callbacks.on_budget = note_budget;
  aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
  options.device = "emu:4";
  options.coordinator = "none";
  options.socket_directory = directory;
  options.host_bytes = 4 * MIB;
  options.callbacks_in_tick = 1;
  options.callbacks = &callbacks;
  OK(aqua_runtime_open(&options, &told.runtime));
  OK(aqua_runtime_tick(told.runtime));
  CHECK(told.budgets == 1 && told.last.reason == AQUA_BUDGET_OPENED);
  CHECK(told.last.host_bytes == 4 * MIB);

  aqua_load_profile profile = AQUA_LOAD_PROFILE_INIT;
  profile.steady_requests_per_second = 5;
  profile.kv_bytes_total = 512 * MIB;
  profile.steady_free_bytes = 256 * MIB;
  profile.producer_threshold_bytes = 1;
  aqua_producer_options producer = AQUA_PRODUCER_OPTIONS_INIT;
  producer.settle_ms = 0; /* taken as they stand, 0 too */
  producer.headroom = 0;
  producer.min_offer_bytes = 1;
  OK(aqua_runtime_set_profile(told.runtime, &profile, NULL));
  OK(aqua_runtime_set_profile(told.runtime, &profile, &producer));
  producer.headroom = NAN;
  FAILS(AQUA_INVALID_ARGUMENT, aqua_runtime_set_profile(told.runtime, &profile, &producer));
  aqua_load_report report = AQUA_LOAD_REPORT_INIT;
  report.requests_per_second = 4;
  report.kv_bytes_used = report.kv_bytes_wanted = 384 * MIB;
  OK(aqua_runtime_report(told.runtime, &report));
  OK(aqua_runtime_tick(told.runtime));
  CHECK(told.budgets == 2 && told.last.reason == AQUA_BUDGET_WANTED);
  CHECK(told.last.engine_bytes == 384 * MIB); /* all that is free: no headroom is kept */
  report.kv_bytes_wanted = 1;
  FAILS(AQUA_INVALID_ARGUMENT, aqua_runtime_report(told.runtime, &report));
  report.kv_bytes_wanted = 64 * MIB;
  report.time_to_first_token_p99_us = UINT64_MAX;
  FAILS(AQUA_INVALID_ARGUMENT, aqua_runtime_report(told.runtime, &report));
  aqua_memory_budget budget = AQUA_MEMORY_BUDGET_INIT;
  OK(aqua_runtime_get_budget(told.runtime, &budget));
  CHECK(budget.engine_bytes == 384 * MIB && budget.lent_bytes == 0);
  OK(aqua_runtime_close(told.runtime));
}
