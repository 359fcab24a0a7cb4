/* SPDX-License-Identifier: Apache-2.0 */
/* The words that every C header shares; see aqua/aqua.h for the rules. */
#ifndef AQUA_C_TYPES_H
#define AQUA_C_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "aqua/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A stream of the runtime's device: a cudaStream_t, or one of aqua_emulated_stream_create().
 * Borrowed: it lives until the work it was named for is done. 0: the default stream. */
typedef uintptr_t aqua_stream;

typedef struct aqua_runtime {
  uint64_t id;
} aqua_runtime;
typedef struct aqua_tensor {
  uint64_t id;
} aqua_tensor;
typedef struct aqua_pin {
  uint64_t id;
} aqua_pin;
typedef struct aqua_layout {
  uint64_t id;
} aqua_layout;
typedef struct aqua_ticket {
  uint64_t id;
} aqua_ticket;
typedef struct aqua_reclaim {
  uint64_t id;
} aqua_reclaim;
typedef struct aqua_pool {
  uint64_t id;
} aqua_pool;
typedef struct aqua_layer_pool {
  uint64_t id;
} aqua_layer_pool;
typedef struct aqua_block_pool {
  uint64_t id;
} aqua_block_pool;
typedef struct aqua_packer {
  uint64_t id;
} aqua_packer;
typedef struct aqua_weights {
  uint64_t id;
} aqua_weights;
typedef struct aqua_weights_publisher {
  uint64_t id;
} aqua_weights_publisher;
typedef struct aqua_kv_pool {
  uint64_t id;
} aqua_kv_pool;
typedef struct aqua_streamer {
  uint64_t id;
} aqua_streamer;
typedef struct aqua_stream_out {
  uint64_t id;
} aqua_stream_out;
typedef struct aqua_stream_in {
  uint64_t id;
} aqua_stream_in;
typedef struct aqua_replicator {
  uint64_t id;
} aqua_replicator;
typedef struct aqua_replica_reader {
  uint64_t id;
} aqua_replica_reader;
typedef struct aqua_microbatch_swap {
  uint64_t id;
} aqua_microbatch_swap;

/* Where a tensor's bytes are, fastest first. */
typedef uint32_t aqua_tier;
enum {
  AQUA_TIER_LOCAL = 0, /* the device's own memory */
  AQUA_TIER_PEER = 1,  /* memory that a neighbouring device's owner has lent */
  AQUA_TIER_HOST = 2   /* this server's DRAM */
};
/* "local", "peer", "host"; "unknown" for a number that is no tier. Never NULL. */
AQUA_API const char* aqua_tier_name(aqua_tier tier);

/* Names that come back in structs: cut off where they do not fit, always ended by a zero. */
#define AQUA_NAME_BYTES 64

#ifdef __cplusplus
}
#endif

#endif
