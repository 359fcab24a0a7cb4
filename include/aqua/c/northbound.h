/* SPDX-License-Identifier: Apache-2.0 */
/* What a serving engine and libaqua tell each other about load and memory. */
#ifndef AQUA_C_NORTHBOUND_H
#define AQUA_C_NORTHBOUND_H

#include "aqua/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why a budget was told. */
typedef uint32_t aqua_budget_reason;
enum {
  AQUA_BUDGET_OPENED = 0,    /* the first budget of this runtime */
  AQUA_BUDGET_WANTED = 1,    /* the engine frees memory until it uses at most engine_bytes, then
                                calls aqua_runtime_lend() */
  AQUA_BUDGET_OFFERED = 2,   /* part of the engine's memory was put up for lending */
  AQUA_BUDGET_RECLAIMED = 3, /* lent memory came back, all or a slab of it */
  AQUA_BUDGET_GRANTED = 4,   /* a neighbour's memory was leased to us */
  AQUA_BUDGET_REVOKED = 5,   /* a neighbour took its memory back; no byte was lost */
  AQUA_BUDGET_LOST = 6       /* memory died; its tensors report data loss */
};
/* "opened", "wanted", ...; "unknown" for a number that is no reason. Never NULL. */
AQUA_API const char* aqua_budget_reason_name(aqua_budget_reason reason);

typedef struct aqua_memory_budget {
  size_t struct_size;
  size_t engine_bytes; /* of its own device: what the engine may use from now on, shared_bytes not
                          among it */
  size_t lent_bytes;   /* of its own device: put up for lending, held by others or not */
  size_t peer_bytes;   /* neighbours' memory leased to us */
  size_t host_bytes;   /* this server's DRAM that we may use */
  aqua_budget_reason reason;
  size_t shared_bytes; /* of its own device: weights and KV pools, each mapping here counted */
} aqua_memory_budget;
#define AQUA_MEMORY_BUDGET_INIT \
  { sizeof(aqua_memory_budget), 0, 0, 0, 0, 0, 0 }

typedef struct aqua_load_report {
  size_t struct_size;
  double requests_per_second; /* arrivals, a mean over some ten seconds */
  double queue_length;        /* waiting to be scheduled, now */
  size_t kv_bytes_used;       /* KV cache on the device now */
  size_t kv_bytes_wanted;     /* if memory were no limit; at least kv_bytes_used */
  /* For people and dashboards; 0 where not measured. p50 <= p99. */
  uint64_t time_to_first_token_p50_us;
  uint64_t time_to_first_token_p99_us;
  uint64_t time_per_output_token_p50_us;
  uint64_t time_per_output_token_p99_us;
} aqua_load_report;
#define AQUA_LOAD_REPORT_INIT \
  { sizeof(aqua_load_report), 0, 0, 0, 0, 0, 0, 0, 0 }

/* What a profiler found for one model on one device at its stable request rate. */
typedef struct aqua_load_profile {
  size_t struct_size;
  double steady_requests_per_second;
  double steady_queue_length;
  size_t kv_bytes_total;           /* all KV memory of the engine when none is lent */
  size_t steady_free_bytes;        /* of it, never used: the most that is ever lent */
  size_t producer_threshold_bytes; /* less than this free: no producer [10 GB] */
} aqua_load_profile;
#define AQUA_LOAD_PROFILE_INIT \
  { sizeof(aqua_load_profile), 0, 0, 0, 0, 10000000000u }

/* Above the band: a rate over steady * rate_ratio + rate_slack, or a queue likewise. */
typedef struct aqua_load_band {
  double rate_ratio;
  double rate_slack; /* requests per second */
  double queue_ratio;
  double queue_slack; /* requests */
} aqua_load_band;

/* When to lend and when to reclaim. The defaults, in brackets, are those of the INIT below; every
 * value is taken as it stands, 0 too. */
typedef struct aqua_producer_options {
  size_t struct_size;
  aqua_load_band rise;           /* above it: reclaim [1.5, 0.5, 2, 8] */
  aqua_load_band settle;         /* not above it for settle_ms: offer [1.2, 0.25, 1.25, 2] */
  uint32_t settle_ms;            /* [15000] */
  uint32_t min_ms_between_flips; /* from a reclaim to the next offer [30000] */
  double headroom;               /* of kv_bytes_total, kept free when offering [0.1] */
  size_t min_offer_bytes;        /* [256 MiB] */
} aqua_producer_options;
#define AQUA_PRODUCER_OPTIONS_INIT                                                            \
  {                                                                                           \
    sizeof(aqua_producer_options), {1.5, 0.5, 2, 8}, {1.2, 0.25, 1.25, 2}, 15000, 30000, 0.1, \
        (size_t)256 << 20                                                                     \
  }

/* From now on aqua_runtime_report() decides when to lend and when to reclaim. `options` may be
 * NULL. invalid_argument when the numbers cannot be. */
AQUA_CALL aqua_error* aqua_runtime_set_profile(aqua_runtime runtime,
                                               const aqua_load_profile* profile,
                                               const aqua_producer_options* options);
/* Tells the engine's load, about once a second; before aqua_runtime_set_profile() nothing is
 * decided by it. A decision to lend is told by on_budget (AQUA_BUDGET_WANTED); a reclaim is begun
 * at once. invalid_argument when the report cannot be true. */
AQUA_CALL aqua_error* aqua_runtime_report(aqua_runtime runtime, const aqua_load_report* report);
AQUA_CALL aqua_error* aqua_runtime_get_budget(aqua_runtime runtime, aqua_memory_budget* budget);

#ifdef __cplusplus
}
#endif

#endif
