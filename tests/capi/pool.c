/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <poll.h>

#include "aqua/aqua_emulated.h"
#include "tests/capi/check.h"
#include "tests/capi/parts.h"

void test_pool(const char* directory, const char* coordinator) {
  aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
  options.device = "emu:7";
  options.coordinator = coordinator;
  options.socket_directory = directory;
  options.host_bytes = 2 * MIB;
  aqua_runtime runtime;
  OK(aqua_runtime_open(&options, &runtime));

  aqua_pool_options wanted = AQUA_POOL_OPTIONS_INIT;
  wanted.planes = 4;
  wanted.plane_bytes = 8 * MIB;
  aqua_pool pool;
  OK(aqua_pool_create(runtime, &wanted, &pool));
  aqua_pool_info info = AQUA_POOL_INFO_INIT;
  OK(aqua_pool_get_info(pool, &info));
  CHECK(info.planes == 4 && info.quantum_bytes == 8 * MIB && info.total_quanta == 4);
  CHECK(info.usable_bytes_per_plane == 8 * MIB && info.lent_quanta == 0);
  void* plane = NULL;
  OK(aqua_pool_get_plane(pool, 3, &plane));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_pool_get_plane(pool, 4, &plane));
  const char text[] = "kept";
  char back[sizeof text] = {0};
  OK(aqua_emulated_write(runtime, 0, plane, text, sizeof text));

  FAILS(AQUA_INVALID_ARGUMENT, aqua_pool_lend(pool, 0, 0));
  FAILS(AQUA_INVALID_ARGUMENT, aqua_pool_lend(pool, 1, 123456789));
  FAILS(AQUA_RESOURCE_EXHAUSTED, aqua_pool_lend(pool, 5, 0));
  OK(aqua_pool_lend(pool, 2, 0));
  OK(aqua_pool_get_info(pool, &info));
  CHECK(info.usable_bytes_per_plane == 4 * MIB);
  for (int i = 0; info.lent_quanta != 2; ++i) {
    CHECK(i < 20000);
    poll(NULL, 0, 1);
    OK(aqua_pool_get_info(pool, &info));
  }
  FAILS(AQUA_FAILED_PRECONDITION, aqua_runtime_close(runtime));
  aqua_reclaim reclaim;
  OK(aqua_runtime_reclaim(runtime, 2 * info.quantum_bytes, 10000, &reclaim));
  OK(aqua_reclaim_wait(reclaim, NULL));
  OK(aqua_reclaim_free(reclaim));
  FAILS(AQUA_NOT_FOUND, aqua_reclaim_wait(reclaim, NULL));
  for (int i = 0; info.usable_bytes_per_plane != 8 * MIB; ++i) {
    CHECK(i < 20000);
    poll(NULL, 0, 1);
    OK(aqua_pool_get_info(pool, &info));
  }
  OK(aqua_emulated_read(runtime, 0, plane, back, sizeof back));
  OK(aqua_emulated_synchronize(runtime, 0));
  CHECK(strcmp(back, text) == 0);

  OK(aqua_pool_free(pool));
  FAILS(AQUA_NOT_FOUND, aqua_pool_free(pool));
  wanted.plane_bytes = 1;
  FAILS(AQUA_INVALID_ARGUMENT, aqua_pool_create(runtime, &wanted, &pool));
  wanted.plane_bytes = 512 * MIB; /* the device has 1 GiB */
  FAILS(AQUA_RESOURCE_EXHAUSTED, aqua_pool_create(runtime, &wanted, &pool));
  wanted.planes = SIZE_MAX;
  FAILS(AQUA_RESOURCE_EXHAUSTED, aqua_pool_create(runtime, &wanted, &pool));
  OK(aqua_runtime_close(runtime));
}
