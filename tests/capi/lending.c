/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <poll.h>

#include "aqua/aqua_emulated.h"
#include "tests/capi/check.h"
#include "tests/capi/parts.h"

/* Written by callbacks in tick(), so by this thread. */
struct told {
  size_t pins_wanted;
  uint64_t tensor_id;
  size_t lost;
  size_t budgets;
};

static void on_pins_wanted(void* user, const aqua_pinned_tensor* const* tensors, size_t count,
                           uint64_t ms_left) {
  struct told* told = user;
  CHECK(count == 1 && ms_left < 60000);
  CHECK(tensors[0]->struct_size >= sizeof(aqua_pinned_tensor));
  CHECK(strcmp(tensors[0]->name, "held") == 0 && tensors[0]->write_pins == 1);
  told->pins_wanted += count;
  told->tensor_id = tensors[0]->tensor_id;
}
static void on_data_loss(void* user, uint64_t tensor_id, const char* name) {
  (void)tensor_id;
  (void)name;
  ++((struct told*)user)->lost;
}
static void on_budget(void* user, const aqua_memory_budget* budget) {
  (void)budget;
  ++((struct told*)user)->budgets;
}
static void on_log(void* user, aqua_log_level level, const char* message) {
  (void)user;
  CHECK(level <= AQUA_LOG_ERROR && message != NULL);
}

static aqua_runtime open_one(const char* directory, const char* coordinator, const char* device,
                             size_t max_peer_bytes, const aqua_callbacks* callbacks) {
  aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
  aqua_runtime runtime;
  options.device = device;
  options.coordinator = coordinator;
  options.name = device;
  options.socket_directory = directory;
  options.host_bytes = 32 * MIB;
  options.max_peer_bytes = max_peer_bytes;
  options.slab_bytes = 4 * MIB;
  options.callbacks_in_tick = 1;
  options.callbacks = callbacks;
  OK(aqua_runtime_open(&options, &runtime));
  return runtime;
}

static aqua_runtime_status status_of(aqua_runtime runtime) {
  aqua_runtime_status status = AQUA_RUNTIME_STATUS_INIT;
  OK(aqua_runtime_get_status(runtime, &status));
  return status;
}

static void await_peer_bytes(aqua_runtime runtime, size_t bytes) {
  for (int i = 0; status_of(runtime).peer.capacity_bytes != bytes; ++i) {
    CHECK(i < 20000);
    poll(NULL, 0, 1);
  }
}

static void hold_against_a_reclaim(aqua_runtime lender, aqua_runtime borrower, aqua_tensor tensor,
                                   const struct told* told) {
  aqua_tensor_info info = AQUA_TENSOR_INFO_INIT;
  OK(aqua_tensor_get_info(tensor, &info));
  aqua_pin pin;
  OK(aqua_tensor_pin(tensor, AQUA_ACCESS_WRITE, 0, 0, AQUA_WHOLE_TENSOR, &pin, NULL));
  aqua_reclaim reclaim;
  OK(aqua_runtime_reclaim(lender, 8 * MIB, 300, &reclaim));
  aqua_reclaim_progress progress = AQUA_RECLAIM_PROGRESS_INIT;
  FAILS(AQUA_DEADLINE_EXCEEDED, aqua_reclaim_wait(reclaim, &progress));
  CHECK(progress.bytes_wanted == 0); /* outputs only on success */
  OK(aqua_reclaim_get_progress(reclaim, &progress));
  CHECK(progress.done == 1 && progress.holders >= 1 && progress.bytes_wanted == 8 * MIB);
  aqua_holder holder = AQUA_HOLDER_INIT;
  OK(aqua_reclaim_get_holder(reclaim, 0, &holder));
  CHECK(strcmp(holder.name, "emu:6") == 0 && holder.bytes == 4 * MIB && holder.pid > 0);
  FAILS(AQUA_NOT_FOUND, aqua_reclaim_get_holder(reclaim, 99, &holder));
  OK(aqua_runtime_tick(borrower));
  CHECK(told->pins_wanted >= 1 && told->tensor_id == info.tensor_id);
  OK(aqua_pin_release(pin));
  OK(aqua_reclaim_free(reclaim));
  for (int i = 0; status_of(lender).lent_bytes != 0; ++i) {
    CHECK(i < 20000);
    poll(NULL, 0, 1);
  }
}

void test_lending(const char* directory, const char* coordinator) {
  struct told told = {0};
  aqua_callbacks callbacks = AQUA_CALLBACKS_INIT;
  callbacks.user = &told;
  callbacks.on_budget = on_budget;
  callbacks.on_data_loss = on_data_loss;
  callbacks.on_pins_wanted = on_pins_wanted;
  callbacks.on_log = on_log;
  const aqua_runtime lender = open_one(directory, coordinator, "emu:5", 0, NULL);
  const aqua_runtime borrower = open_one(directory, coordinator, "emu:6", 8 * MIB, &callbacks);
  OK(aqua_runtime_lend(lender, 8 * MIB));
  await_peer_bytes(borrower, 8 * MIB);

  aqua_tensor_options options = AQUA_TENSOR_OPTIONS_INIT;
  options.bytes = 1 * MIB;
  options.name = "held";
  aqua_tensor tensor;
  aqua_tier tier = AQUA_TIER_HOST;
  OK(aqua_tensor_allocate(borrower, &options, &tensor));
  OK(aqua_tensor_get_tier(tensor, &tier));
  CHECK(tier == AQUA_TIER_PEER);
  aqua_pin pin;
  void* data = NULL;
  uint64_t sent = 0x0123456789abcdef;
  uint64_t got = 0;
  OK(aqua_tensor_pin(tensor, AQUA_ACCESS_WRITE, 0, 512, 8, &pin, &data));
  OK(aqua_emulated_write(borrower, 0, data, &sent, sizeof sent));
  OK(aqua_pin_release(pin));

  hold_against_a_reclaim(lender, borrower, tensor, &told);
  OK(aqua_tensor_get_tier(tensor, &tier));
  CHECK(tier == AQUA_TIER_HOST);
  OK(aqua_tensor_pin(tensor, AQUA_ACCESS_READ, 0, 512, 8, &pin, &data));
  OK(aqua_emulated_read(borrower, 0, data, &got, sizeof got));
  OK(aqua_pin_release(pin));
  OK(aqua_emulated_synchronize(borrower, 0));
  CHECK(got == sent && told.lost == 0 && told.budgets >= 2);

  OK(aqua_runtime_lend(lender, 4 * MIB));
  aqua_reclaim_progress progress = AQUA_RECLAIM_PROGRESS_INIT;
  aqua_reclaim reclaim;
  OK(aqua_runtime_reclaim(lender, 4 * MIB, 10000, &reclaim));
  OK(aqua_reclaim_wait(reclaim, &progress));
  CHECK(progress.bytes_returned == 4 * MIB && progress.slabs_returned == 1);
  OK(aqua_runtime_reclaim(lender, 4 * MIB, 10000, NULL)); /* nothing is lent, nobody asks */
  FAILS(AQUA_INVALID_ARGUMENT, aqua_runtime_reclaim(lender, 0, 10000, NULL));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_runtime_lend(lender, 1));
  FAILS(AQUA_RESOURCE_EXHAUSTED, aqua_runtime_lend(lender, SIZE_MAX));

  OK(aqua_tensor_free(tensor));
  OK(aqua_runtime_close(borrower));
  OK(aqua_runtime_close(lender));
  OK(aqua_reclaim_wait(reclaim, &progress)); /* done before its runtime went */
  OK(aqua_reclaim_free(reclaim));
}
