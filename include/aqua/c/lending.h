/* SPDX-License-Identifier: Apache-2.0 */
/* The producer's side: lend memory to neighbours, take it back. */
#ifndef AQUA_C_LENDING_H
#define AQUA_C_LENDING_H

#include "aqua/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aqua_reclaim_progress {
  size_t struct_size;
  size_t bytes_wanted;
  size_t bytes_returned; /* scrubbed, and the device's own again */
  size_t slabs_returned;
  uint64_t first_slab_us; /* from the call; 0 before */
  uint64_t last_slab_us;
  uint32_t holders; /* in the way when it ended partially: see aqua_reclaim_get_holder() */
  uint32_t done;    /* 1: all is back, or the deadline has passed */
} aqua_reclaim_progress;
#define AQUA_RECLAIM_PROGRESS_INIT \
  { sizeof(aqua_reclaim_progress), 0, 0, 0, 0, 0, 0, 0 }

typedef struct aqua_holder {
  size_t struct_size;
  size_t bytes;
  int64_t pid;
  uint32_t slab;
  char name[AQUA_NAME_BYTES]; /* the client's */
} aqua_holder;
#define AQUA_HOLDER_INIT            \
  {                                 \
    sizeof(aqua_holder), 0, 0, 0, { \
      0                             \
    }                               \
  }

/* Takes `bytes` of the device's free memory, rounded down to slabs, and offers it.
 *   invalid_argument    less than a slab (aqua_runtime_options.slab_bytes)
 *   resource_exhausted  the device has less free */
AQUA_CALL aqua_error* aqua_runtime_lend(aqua_runtime runtime, size_t bytes);
/* Wants `bytes` of lent memory back within deadline_ms; more than is lent means all, more than a
 * day means a day, and nothing lent is nothing to wait for. Memory of aqua_runtime_lend() and of
 * pools counts alike. `reclaim` may be NULL where nobody will ask. invalid_argument when bytes or
 * deadline_ms is 0. */
AQUA_CALL aqua_error* aqua_runtime_reclaim(aqua_runtime runtime, size_t bytes, uint32_t deadline_ms,
                                           aqua_reclaim* reclaim);

AQUA_CALL aqua_error* aqua_reclaim_get_progress(aqua_reclaim reclaim,
                                                aqua_reclaim_progress* progress);
/* not_found when there are not so many. */
AQUA_CALL aqua_error* aqua_reclaim_get_holder(aqua_reclaim reclaim, size_t index,
                                              aqua_holder* holder);
/* Blocks until it is done, at the latest shortly after its deadline. `progress` may be NULL; on an
 * error it is not written: ask aqua_reclaim_get_progress().
 *   deadline_exceeded    it ended partially; the message names the holders
 *   failed_precondition  its runtime was closed before it was done */
AQUA_CALL aqua_error* aqua_reclaim_wait(aqua_reclaim reclaim, aqua_reclaim_progress* progress);
/* Stops nothing. */
AQUA_CALL aqua_error* aqua_reclaim_free(aqua_reclaim reclaim);

#ifdef __cplusplus
}
#endif

#endif
