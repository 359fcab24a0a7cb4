/* SPDX-License-Identifier: Apache-2.0 */
/* Packers decide on which engine each request's KV is, so that few engines are needed: where a
 * request goes when it comes, and which requests move while they grow and end. Numbers only: a
 * packer belongs to no runtime, reads no clock and moves no byte. docs/plan/packing.md has the
 * policies, and aqua/packing/ the same in C++, with an example.
 *
 * Ids are the caller's own numbers. Units: tokens of KV, in whole blocks of block_tokens.
 *
 * Memory that runs out in the middle of a call may leave half a change behind: that call says
 * resource_exhausted, and every later one aborted. Free the packer then, and tell another one what
 * is where. */
#ifndef AQUA_C_PACKER_H
#define AQUA_C_PACKER_H

#include "aqua/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aqua_packer_options {
  size_t struct_size;
  double watermark;         /* of an engine that is left free for growth, from 0 up to 0.5 [0.05] */
  uint32_t max_moves;       /* requests that an event may move; 0: 10 */
  uint64_t max_move_tokens; /* of KV that an epoch may move; 0: no limit */
  uint32_t reserve;         /* 1: room for tokens + max_new is taken when a request comes */
  double near_slack;        /* a nearer engine is chosen within this share of capacity [0.05] */
  double balance_gap;       /* lb: loads that differ by this share are balanced [0.1] */
  uint64_t block_tokens;    /* 0: 16 */
  uint64_t bytes_per_token; /* of KV, over all layers; 0: 1 */
} aqua_packer_options;
#define AQUA_PACKER_OPTIONS_INIT \
  { sizeof(aqua_packer_options), 0.05, 10, 0, 0, 0.05, 0.1, 16, 1 }

/* An engine that the packer rules. It sleeps until the packer wakes it. */
typedef struct aqua_packer_engine {
  size_t struct_size;
  uint64_t id;        /* not 0 */
  uint64_t kv_tokens; /* of its KV pool, at most 2^40; what it lends is not in it */
  uint64_t server;    /* engines of a server reach each other without a network */
  uint64_t domain;    /* a rack, a switch: servers of a domain are near */
  double wake_cost;   /* the cheapest sleeping engine is woken first */
} aqua_packer_engine;
#define AQUA_PACKER_ENGINE_INIT \
  { sizeof(aqua_packer_engine), 0, 0, 0, 0, 0 }

typedef struct aqua_packer_request {
  size_t struct_size;
  uint64_t id;
  uint64_t tokens;        /* of KV when it begins: its prompt; 1 to 2^40 */
  uint64_t max_new;       /* that it may generate; 0: nobody knows */
  uint64_t prefix;        /* that it shares, counted once on an engine; 0: none */
  uint64_t prefix_tokens; /* of it, in whole blocks */
} aqua_packer_request;
#define AQUA_PACKER_REQUEST_INIT \
  { sizeof(aqua_packer_request), 0, 0, 0, 0, 0 }

/* Why a request goes where it goes. */
typedef uint32_t aqua_packer_reason;
enum {
  AQUA_PACKER_BEST_FIT = 0,     /* of the engines with room for it, the one with the least */
  AQUA_PACKER_WORST_FIT = 1,    /* of the engines with room for it, the one with the most */
  AQUA_PACKER_PREFIX = 2,       /* the prefix that it shares is there */
  AQUA_PACKER_BESIDE_LARGE = 3, /* beside a request larger than half an engine */
  AQUA_PACKER_FILLS_GAP = 4,    /* an engine is less than three quarters full */
  AQUA_PACKER_WAKES = 5,        /* no active engine has room: one that sleeps is woken */
  AQUA_PACKER_WAITS = 6,        /* no engine has room */
  AQUA_PACKER_OVERLOAD = 7,     /* its engine is full */
  AQUA_PACKER_DRAINS = 8,       /* its engine is to leave */
  AQUA_PACKER_BALANCES = 9,     /* its engine has more load than another */
  AQUA_PACKER_EMPTIES = 10,     /* all of its engine's requests fit elsewhere */
  AQUA_PACKER_COMPLETES = 11,   /* two medium or three small requests are to fill an engine */
  AQUA_PACKER_MAKES_ROOM = 12   /* a larger request needs the place */
};
/* "best_fit", "worst_fit", ...; "unknown" for a number that is no reason. Never NULL. */
AQUA_API const char* aqua_packer_reason_name(aqua_packer_reason reason);

/* The structs from here to aqua_packer_certificate are parts of arrays or of a plan, and never
 * change. */
typedef struct aqua_packer_placement {
  uint64_t request;
  uint64_t engine; /* 0: it waits, and a later plan places it */
  aqua_packer_reason reason;
  uint32_t wakes; /* 1: this placement wakes the engine; send nothing before it is up */
} aqua_packer_placement;

/* Send the request's KV from one engine to the other, or its tokens, to be computed there; then say
 * aqua_packer_moved(), or aqua_packer_failed(). */
typedef struct aqua_packer_move {
  uint64_t request;
  uint64_t from;
  uint64_t to;
  uint64_t tokens; /* to be copied or computed: its KV, without a prefix that is there already */
  uint64_t bytes;  /* the same */
  aqua_packer_reason reason;
  uint32_t stage;   /* moves of a stage may all begin when those of earlier ones are over */
  uint32_t dropped; /* 1: drop its KV before stage 0, and compute it again on `to` in its stage */
} aqua_packer_move;

/* Drop its KV: it waits, and is placed again. */
typedef struct aqua_packer_preemption {
  uint64_t request;
  uint64_t engine;
  uint64_t tokens; /* of its KV, without its prefix */
} aqua_packer_preemption;

/* How many engines the plan needs once its moves are over, held against how few could do. */
typedef struct aqua_packer_certificate {
  uint64_t engines;    /* that hold requests */
  uint64_t bound;      /* no packing has fewer */
  uint32_t within;     /* 1: engines <= 4/3 * bound + 3 */
  uint32_t properties; /* 1: what proves engines <= 4/3 of the best packing + 2 holds */
} aqua_packer_certificate;

/* Orders hold from the moment they are answered and appear once. In this order: preemptions,
 * engines to wake, moves by stage, placements. */
typedef struct aqua_packer_plan {
  size_t struct_size;
  uint64_t number; /* of the epoch, from 1 */
  const aqua_packer_preemption* preemptions;
  size_t preemption_count;
  const uint64_t* wake; /* engines */
  size_t wake_count;
  const aqua_packer_move* moves; /* by stage */
  size_t move_count;
  const aqua_packer_placement* placements; /* of requests that waited */
  size_t placement_count;
  const uint64_t* freed; /* engines that are asleep from now on: nothing is on its way to them */
  size_t freed_count;
  const uint64_t* drained; /* engines of aqua_packer_drain() that may leave; every time */
  size_t drained_count;
  const uint64_t* too_large; /* requests that wait and that no engine takes; every time */
  size_t too_large_count;
  uint64_t move_limit; /* of this epoch, in requests */
  aqua_packer_certificate certificate;
} aqua_packer_plan;
#define AQUA_PACKER_PLAN_INIT                                                                      \
  {                                                                                                \
    sizeof(aqua_packer_plan), 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0, \
    {                                                                                              \
      0, 0, 0, 0                                                                                   \
    }                                                                                              \
  }

typedef uint32_t aqua_packer_engine_state;
enum {
  AQUA_PACKER_ASLEEP = 0, /* holds nothing; its pool may be lent, or it be switched off */
  AQUA_PACKER_ACTIVE = 1,
  AQUA_PACKER_DRAINING = 2 /* gets nothing more, and its requests are moved away */
};
typedef struct aqua_packer_engine_status {
  size_t struct_size;
  aqua_packer_engine_state state;
  uint64_t kv_tokens;
  uint64_t usable_tokens;  /* what may be filled: kv_tokens less the watermark */
  uint64_t held_tokens;    /* by residents and by both ends of moves, prefixes once */
  uint64_t leaving_tokens; /* of these, what moves away */
  uint32_t residents;      /* that are not moving */
  uint32_t coming;         /* moves under way */
  uint32_t leaving;
} aqua_packer_engine_status;
#define AQUA_PACKER_ENGINE_STATUS_INIT \
  { sizeof(aqua_packer_engine_status), 0, 0, 0, 0, 0, 0, 0, 0 }

typedef uint32_t aqua_packer_request_state;
enum {
  AQUA_PACKER_WAITING = 0,  /* on no engine */
  AQUA_PACKER_RESIDENT = 1, /* on an engine */
  AQUA_PACKER_MOVING = 2    /* ordered away: it holds room on both engines */
};
typedef struct aqua_packer_request_status {
  size_t struct_size;
  aqua_packer_request_state state;
  uint64_t engine; /* where it is, or moves to; 0: it waits */
  uint64_t from;   /* where it moves from, if its KV is still there */
  uint64_t own_tokens;
  uint64_t prefix_tokens;
} aqua_packer_request_status;
#define AQUA_PACKER_REQUEST_STATUS_INIT \
  { sizeof(aqua_packer_request_status), 0, 0, 0, 0, 0 }

typedef struct aqua_packer_status {
  size_t struct_size;
  size_t waiting; /* requests */
  size_t resident;
  size_t moving;
  size_t asleep; /* engines */
  size_t active;
  size_t draining;
  uint64_t held_tokens; /* over all engines, both ends of moves, prefixes once an engine */
  uint64_t held_bytes;
  uint64_t moves; /* ordered, since the packer was made, as the next */
  uint64_t moved_tokens;
  uint64_t moved_bytes;
  uint64_t preemptions;
  uint64_t looked_at; /* entries of its indexes: what decisions cost, counted */
} aqua_packer_status;
#define AQUA_PACKER_STATUS_INIT \
  { sizeof(aqua_packer_status), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* The names of the policies, the default first; NULL past the last. */
AQUA_API const char* aqua_packer_policy(size_t index);

/* `policy`: NULL for the default. `options`: NULL for the defaults. invalid_argument names the
 * field that cannot be, or lists the policies. */
AQUA_CALL aqua_error* aqua_packer_create(const char* policy, const aqua_packer_options* options,
                                         aqua_packer* packer);
AQUA_CALL aqua_error* aqua_packer_free(aqua_packer packer);

/* --- engines come and go; not_found: no such engine ---------------------------------------- */

/* already_exists; invalid_argument names the field. */
AQUA_CALL aqua_error* aqua_packer_join(aqua_packer packer, const aqua_packer_engine* engine);
/* Its pool has another capacity: memory was lent, or came back. invalid_argument: 0, or more than
 * 2^40. */
AQUA_CALL aqua_error* aqua_packer_resize(aqua_packer packer, uint64_t engine, uint64_t kv_tokens);
/* Gets nothing more, and plans move its requests away. failed_precondition: it is draining. */
AQUA_CALL aqua_error* aqua_packer_drain(aqua_packer packer, uint64_t engine);
/* Forgets it. failed_precondition: requests are on it, or moves to or from it are under way. */
AQUA_CALL aqua_error* aqua_packer_gone(aqua_packer packer, uint64_t engine);
/* It died with what was on it: answers those requests, which wait from now on. *requests is the
 * packer's, until the next aqua_packer_lost() or aqua_packer_free(). */
AQUA_CALL aqua_error* aqua_packer_lost(aqua_packer packer, uint64_t engine,
                                       const uint64_t** requests, size_t* count);

/* --- requests come, grow and end; not_found: no such request -------------------------------- */

/* Answers at once where it goes; it waits where no engine has room, and while others wait.
 *   already_exists, invalid_argument  the field is named
 *   resource_exhausted                it is larger than what may be filled of any engine */
AQUA_CALL aqua_error* aqua_packer_arrive(aqua_packer packer, const aqua_packer_request* request,
                                         aqua_packer_placement* placement);
/* It holds, or is about to hold, so many tokens in all. invalid_argument: fewer than before, or
 * more than 2^40. */
AQUA_CALL aqua_error* aqua_packer_grew(aqua_packer packer, uint64_t request, uint64_t tokens);
/* It ended or was aborted, in whatever state: report nothing more about this id. */
AQUA_CALL aqua_error* aqua_packer_ended(aqua_packer packer, uint64_t request);

/* --- plans ---------------------------------------------------------------------------------- */

/* The next plan. Its arrays are the packer's, until the next aqua_packer_epoch() or
 * aqua_packer_free(). */
AQUA_CALL aqua_error* aqua_packer_epoch(aqua_packer packer, aqua_packer_plan* plan);
/* The move that plan number `plan` ordered is over, and its KV on the old engine gone.
 * failed_precondition: that plan was overtaken. */
AQUA_CALL aqua_error* aqua_packer_moved(aqua_packer packer, uint64_t request, uint64_t plan);
/* The move was not done: the request is where it was, or waits if its KV was dropped.
 * failed_precondition as above. */
AQUA_CALL aqua_error* aqua_packer_failed(aqua_packer packer, uint64_t request, uint64_t plan);

/* --- questions ------------------------------------------------------------------------------ */

AQUA_CALL aqua_error* aqua_packer_get_engine(aqua_packer packer, uint64_t engine,
                                             aqua_packer_engine_status* status);
AQUA_CALL aqua_error* aqua_packer_get_request(aqua_packer packer, uint64_t request,
                                              aqua_packer_request_status* status);
AQUA_CALL aqua_error* aqua_packer_get_status(aqua_packer packer, aqua_packer_status* status);

/* --- how the moves of a plan are made --------------------------------------------------------- */

/* What an engine may do in an epoch beside its work. Part of arrays: never changes, as the next. */
typedef struct aqua_packer_engine_boundary {
  uint64_t engine;
  uint64_t server;
  uint64_t bytes_in; /* over its own link, from wherever */
  uint64_t bytes_out;
  uint64_t prefill_tokens; /* that it may compute without delaying those that it decodes */
} aqua_packer_engine_boundary;
/* To and from other servers, all engines of this one together. */
typedef struct aqua_packer_server_boundary {
  uint64_t server;
  uint64_t bytes_in;
  uint64_t bytes_out;
} aqua_packer_server_boundary;

typedef uint32_t aqua_packer_send_as;
enum {
  AQUA_PACKER_KV = 0,     /* over the links */
  AQUA_PACKER_TOKENS = 1, /* computed again on the other engine */
  AQUA_PACKER_LATER = 2   /* say aqua_packer_failed(), or do it in a later epoch */
};
/* Which ways aqua_packer_divide() may choose, beside later. */
typedef uint32_t aqua_packer_ways;
enum { AQUA_PACKER_EITHER = 0, AQUA_PACKER_KV_ONLY = 1, AQUA_PACKER_TOKENS_ONLY = 2 };

/* Writes for each of `count` moves, by its place, how it is made, so that no boundary is exceeded
 * (Mell, section V). invalid_argument names an engine or a server that has no boundary, or has two.
 */
AQUA_CALL aqua_error* aqua_packer_divide(const aqua_packer_move* moves, size_t count,
                                         const aqua_packer_engine_boundary* engines,
                                         size_t engine_count,
                                         const aqua_packer_server_boundary* servers,
                                         size_t server_count, aqua_packer_ways ways,
                                         aqua_packer_send_as* send_as);

#ifdef __cplusplus
}
#endif

#endif
