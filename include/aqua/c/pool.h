/* SPDX-License-Identifier: Apache-2.0 */
/* ElasticPool: an engine's KV cache whose tail can be lent and taken back while every pointer
 * stays valid. Memory leaves and returns in quanta: one slab of every plane, at the same offset,
 * from the high end. */
#ifndef AQUA_C_POOL_H
#define AQUA_C_POOL_H

#include "aqua/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aqua_pool_options {
  size_t struct_size;
  size_t planes;      /* layers times two, or times one where keys and values share */
  size_t plane_bytes; /* when nothing is lent; a multiple of slab_bytes */
  size_t slab_bytes;  /* 0: 2 MiB */
  uint32_t filler;    /* not 0: a slab stands in where memory is lent, for stray reads */
} aqua_pool_options;
#define AQUA_POOL_OPTIONS_INIT \
  { sizeof(aqua_pool_options), 0, 0, 0, 0 }

typedef struct aqua_pool_info {
  size_t struct_size;
  size_t planes;
  size_t quantum_bytes;
  size_t total_quanta;
  size_t lent_quanta;
  size_t usable_bytes_per_plane; /* from each plane's base on; falls at once with a loan */
} aqua_pool_info;
#define AQUA_POOL_INFO_INIT \
  { sizeof(aqua_pool_info), 0, 0, 0, 0, 0 }

/* Takes and maps all of it. invalid_argument, or resource_exhausted when the device has less. */
AQUA_CALL aqua_error* aqua_pool_create(aqua_runtime runtime, const aqua_pool_options* options,
                                       aqua_pool* pool);
/* No work may be in flight on it. Reclaim first what is lent of it. */
AQUA_CALL aqua_error* aqua_pool_free(aqua_pool pool);
/* Device address of a plane, fixed for the pool's life. */
AQUA_CALL aqua_error* aqua_pool_get_plane(aqua_pool pool, size_t number, void** address);
AQUA_CALL aqua_error* aqua_pool_get_info(aqua_pool pool, aqua_pool_info* info);
/* The engine starts nothing more in the highest `quanta` usable ones; once `stream` has come to
 * this point they are offered. Get them back by aqua_runtime_reclaim().
 *   invalid_argument     0 quanta, or no such stream
 *   resource_exhausted   more than are usable
 *   failed_precondition  the loan before this one has not been unmapped yet: call again */
AQUA_CALL aqua_error* aqua_pool_lend(aqua_pool pool, size_t quanta, aqua_stream stream);

#ifdef __cplusplus
}
#endif

#endif
