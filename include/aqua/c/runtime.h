/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime: libaqua in one process, for one device. */
#ifndef AQUA_C_RUNTIME_H
#define AQUA_C_RUNTIME_H

#include "aqua/c/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Part of other structs: never changes. */
typedef struct aqua_tier_status {
  size_t tensors;
  size_t tensor_bytes;
  size_t capacity_bytes;
} aqua_tier_status;

/* Batches of copies that really ran by each way; then why the first two were asked for and passed
 * over. See CopyStatus in aqua/copy_status.hpp. Part of other structs: never changes. */
typedef struct aqua_copy_status {
  uint64_t kernel;
  uint64_t batched;
  uint64_t each;
  uint64_t unsupported;
  uint64_t unreachable;
  uint64_t full;
  uint64_t refused;
} aqua_copy_status;

typedef struct aqua_runtime_status {
  size_t struct_size;
  aqua_tier_status local;
  aqua_tier_status peer;
  aqua_tier_status host;
  size_t lost_tensors;
  size_t lent_bytes;    /* slabs put up by us, held by others or not */
  size_t held_bytes;    /* of these, in others' hands */
  uint64_t promotions;  /* tensors moved to faster memory */
  uint64_t evacuations; /* tensors moved off slabs that were being reclaimed */
  uint64_t promoted_bytes;
  uint64_t evacuated_bytes;
  double peer_fragmentation; /* 0: all free leased memory is one piece */
  uint32_t connected;        /* 1: to the coordinator */
  char device[AQUA_NAME_BYTES];
  char last_error[256];       /* of the connection */
  char not_borrowing[256];    /* why no more is borrowed, while there is room for more: what the
                                 coordinator or a lender answered last. Empty: all that may be is */
  uint64_t coordinator_calls; /* so far, but for renewals and waiting for events */
  aqua_copy_status copies;
} aqua_runtime_status;
#define AQUA_RUNTIME_STATUS_INIT                                                                  \
  {                                                                                               \
    sizeof(aqua_runtime_status), {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, \
        {0}, {0}, 0, {                                                                            \
      0, 0, 0, 0, 0, 0, 0                                                                         \
    }                                                                                             \
  }

/* Blocks until the host tier is touched (about 0.3 s a GiB); does not wait for the coordinator.
 * `options` may be NULL: defaults, with the device of $AQUA_DEVICE.
 *   invalid_argument     an option cannot be, or no device is named; or the profile's text is bad
 *   resource_exhausted   less memory than an option asks for; or no thread more can be started
 *   permission_denied    the socket directory is not ours alone
 *   unavailable          a GPU, on a machine without one or without a driver
 *   unimplemented        a kind of device that this build does not have
 *   not_found            no such profile
 *   failed_precondition  the profile is not complete, and has no role yet */
AQUA_CALL aqua_error* aqua_runtime_open(const aqua_runtime_options* options, aqua_runtime* runtime);
/* Gives back what is leased, withdraws what is offered, leaves. Waits for calls of other
 * threads that are under way, and for about a second at most beyond.
 *   failed_precondition  tensors, pins, pools, layer pools, weights, KV pools, streamers, their
 *                        streams or emulated memory of it are still alive (the message counts
 *                        them), or this is one of its callbacks. It stays open.
 * Layouts and block pools belong to no runtime. Tickets, layer transfers and reclaims may be asked
 * and freed afterwards. */
AQUA_CALL aqua_error* aqua_runtime_close(aqua_runtime runtime);
AQUA_CALL aqua_error* aqua_runtime_get_status(aqua_runtime runtime, aqua_runtime_status* status);
/* Call it once every few iterations. Runs callbacks that wait, where they are to run here; with
 * nothing to do it costs nanoseconds. */
AQUA_CALL aqua_error* aqua_runtime_tick(aqua_runtime runtime);

#ifdef __cplusplus
}
#endif

#endif
