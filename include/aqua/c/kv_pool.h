/* SPDX-License-Identifier: Apache-2.0 */
/* KV pools: a KV cache that several processes on one GPU share, whose blocks change process without
 * a byte being copied (aqua/handoff/kv_pool.hpp): prefill hands a request over, decode accepts it.
 * What travels is a parcel (aqua/handoff/parcel.hpp), and a keeper has the memory.
 *
 * Threads: every call may be made concurrently. None waits for a stream, a socket or another
 *          process, but attach, wait and free.
 * Lists:   what aqua_kv_pool_accept(), _undelivered(), _deliveries(), _superseded() and _cut_off()
 *          answer is the pool's, and valid until the next such call of the same name on it, or
 *          until it is freed: copy it where threads share the pool. An empty list is no error.
 * Memory:  attach, and the pool's own threads, speak to the keeper, and end the process where that
 *          finds no memory for a few kilobytes. What another call that finds none has named, or was
 *          about to give, may be out of use until the pool is freed. */
#ifndef AQUA_C_KV_POOL_H
#define AQUA_C_KV_POOL_H

#include "aqua/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the members of a pool agree on. */
typedef struct aqua_kv_pool_shape {
  size_t struct_size;
  uint32_t layers;
  uint32_t planes_per_layer; /* keys and values, or 1 */
  size_t plane_block_bytes;  /* of one block in one plane */
  uint32_t tokens_per_block;
  uint32_t blocks;
  const char* format; /* all else that they have to agree on, in their own words */
} aqua_kv_pool_shape;
#define AQUA_KV_POOL_SHAPE_INIT \
  { sizeof(aqua_kv_pool_shape), 0, 2, 0, 0, 0, NULL }

typedef struct aqua_kv_pool_options {
  size_t struct_size;
  const char* name;
  const char* role;                /* what parcels are handed to: "prefill", "decode", ... */
  const aqua_kv_pool_shape* shape; /* copied */
  size_t slab_bytes;               /* a multiple of 2 MiB; counts where the pool is made */
  const char* keeper;    /* its socket; NULL: $AQUA_KEEPER, else where aqua-keeper puts it */
  uint32_t reserve;      /* blocks to have here ahead of need. Twice as many are kept */
  uint32_t quota_blocks; /* the most that the members of the role may have together, where it has no
                            quota yet (KvPoolOptions); 0: it gets none by this */
} aqua_kv_pool_options;
#define AQUA_KV_POOL_OPTIONS_INIT \
  { sizeof(aqua_kv_pool_options), NULL, NULL, NULL, (size_t)64 << 20, NULL, 64, 0 }

typedef struct aqua_kv_pool_status {
  size_t struct_size;
  size_t idle;        /* blocks that aqua_kv_pool_allocate() has at hand */
  size_t used;        /* given out by it, this member's alone */
  size_t taken;       /* parcels accepted, and not finished or handed on */
  size_t ready;       /* parcels that aqua_kv_pool_accept() has at hand */
  uint32_t waiting;   /* parcels at the keeper that it may take, by the last answer */
  uint32_t connected; /* 1: to the keeper. Once 0 it stays so */
  /* Why not, or what the keeper refused last and has not granted since; cut off where it does not
   * fit. */
  char error[256];
} aqua_kv_pool_status;
#define AQUA_KV_POOL_STATUS_INIT                     \
  {                                                  \
    sizeof(aqua_kv_pool_status), 0, 0, 0, 0, 0, 0, { \
      0                                              \
    }                                                \
  }

#define AQUA_MAX_NOTE_BYTES 4096

/* The KV cache of one request on its way from one process to another. */
typedef struct aqua_parcel {
  size_t struct_size;
  uint64_t number; /* names it once it is on its way; of a giver's it is not looked at */
  const char* id;  /* of the request: 1 to 256 bytes of printable ASCII */
  uint64_t turn;   /* a giver's: higher than every turn of this id so far, at most 2^49; a taker's:
                      what it speaks for the request under, which may be above that */
  const uint32_t* blocks; /* where its tokens lie, in their order */
  size_t block_count;
  const void* note;  /* the giver's words to the taker: the token that is pending, how to sample */
  size_t note_bytes; /* at most AQUA_MAX_NOTE_BYTES */
  uint32_t tokens;
  uint32_t tail_in_doubt; /* 1: nothing is to be appended in place. Copy the last, partly filled
                             block, and append to blocks of your own */
} aqua_parcel;
#define AQUA_PARCEL_INIT \
  { sizeof(aqua_parcel), 0, NULL, 0, NULL, 0, NULL, 0, 0, 0 }

typedef uint32_t aqua_parcel_state;
enum {
  AQUA_PARCEL_RESERVED = 0, /* the keeper has not answered yet */
  AQUA_PARCEL_OPEN = 1,     /* being filled by its giver */
  AQUA_PARCEL_CLOSED = 2,   /* complete, also if its giver ends; it waits for a taker */
  AQUA_PARCEL_TAKEN = 3,    /* one process has it */
  AQUA_PARCEL_CONFIRMED = 4 /* and the giver keeps nothing any more */
};

/* A parcel that was handed over and did not get to the keeper. */
typedef struct aqua_undelivered {
  size_t struct_size;
  const aqua_parcel* parcel;
  const char* role;
  const char* message;
  aqua_code code;
  uint32_t in_doubt; /* 1: it may have arrived all the same, and its blocks are not this member's
                        any more: compute it anew. 0: all is as it was before it was handed over */
} aqua_undelivered;

typedef uint32_t aqua_delivery_outcome;
enum {
  AQUA_DELIVERY_CONFIRMED = 0,  /* its taker has all of it */
  AQUA_DELIVERY_SUPERSEDED = 1, /* a higher turn of the request counts */
  AQUA_DELIVERY_CANCELLED = 2,  /* by name, before it was taken */
  AQUA_DELIVERY_RECALLED = 3,   /* as asked */
  AQUA_DELIVERY_REFUSED = 4,    /* `code` says why */
  AQUA_DELIVERY_IN_DOUBT = 5,   /* the keeper is away: it may have arrived or not */
  AQUA_DELIVERY_DECLINED = 6    /* its taker has no use for it */
};

/* The last that its giver hears of a parcel that was opened. */
typedef struct aqua_delivery {
  size_t struct_size;
  uint64_t number; /* as aqua_kv_pool_open() gave it */
  const char* message;
  aqua_code code; /* of REFUSED and IN_DOUBT; else AQUA_OK */
  aqua_delivery_outcome outcome;
  uint32_t returned; /* 1: all is as it was before it was closed, if it was. Shared blocks are had
                        as often as then, less what was released since */
} aqua_delivery;

/* Joins the pool, or makes it where there is none of this name; blocks for the keeper, and for the
 * memory.
 *   invalid_argument     an option cannot be
 *   unavailable          no keeper listens, or it does not answer; or another member has been
 *                        making the pool for 5 s
 *   permission_denied    the keeper is another user's
 *   failed_precondition  it has another shape, or lies on another device
 *   resource_exhausted   the device, or the keeper, has no room for it; or no thread more can be
 *                        started */
AQUA_CALL aqua_error* aqua_kv_pool_attach(aqua_runtime runtime, const aqua_kv_pool_options* options,
                                          aqua_kv_pool* pool);
/* Waits until what was posted so far has ended, and what was handed over is the keeper's; unmaps
 * the pool, and leaves it. No work may be in flight on it otherwise. Parcels that were not finished
 * wait for the next member of this role. failed_precondition: this is a callback or a kernel, which
 * it might wait for. */
AQUA_CALL aqua_error* aqua_kv_pool_free(aqua_kv_pool pool);
AQUA_CALL aqua_error* aqua_kv_pool_get_status(aqua_kv_pool pool, aqua_kv_pool_status* status);
/* The device address of a plane, in which block b begins at b * plane_block_bytes. Fixed for the
 * pool's life. invalid_argument: there is no such layer or plane. */
AQUA_CALL aqua_error* aqua_kv_pool_get_plane(aqua_kv_pool pool, uint32_t layer, uint32_t plane,
                                             void** address);
/* A layout of the whole pool, to offload and fetch its blocks by. Free it with aqua_layout_free();
 * it does not keep the memory. */
AQUA_CALL aqua_error* aqua_kv_pool_create_layout(aqua_kv_pool pool, aqua_layout* layout);

/* Writes `count` numbers to `blocks`: blocks of this member alone, of undefined content. Asks
 * nobody; more are fetched in the background, as many as were refused last, until 0 are allocated:
 * then they are not wanted any more. resource_exhausted: not so many are at hand now; wait and try
 * again, or preempt. */
AQUA_CALL aqua_error* aqua_kv_pool_allocate(aqua_kv_pool pool, size_t count, uint32_t* blocks);
/* Lets go of blocks once the work posted to `stream` so far has ended.
 *   invalid_argument     a block that is not this member's, or is named twice; or the stream
 *   failed_precondition  the stream is being captured */
AQUA_CALL aqua_error* aqua_kv_pool_release(aqua_kv_pool pool, const uint32_t* blocks, size_t count,
                                           aqua_stream stream);
/* From now on the blocks are read only, and can be in any number of parcels: a common prefix. Of
 * what is shared already, or in a parcel that was accepted, this member has one more then. Each is
 * to be released as often. invalid_argument as aqua_kv_pool_release(). */
AQUA_CALL aqua_error* aqua_kv_pool_share(aqua_kv_pool pool, const uint32_t* blocks, size_t count);

/* --- who gives ---------------------------------------------------------------------------------
 */

/* Hands a parcel to whoever has this role, once the work posted to `stream` so far has ended. Its
 * blocks are those of aqua_kv_pool_allocate(), which this member has no more then; those that it
 * shares; and those of the parcel of the same id that it has accepted, which ends by this.
 *   invalid_argument     the id, the role, the note, or as aqua_kv_pool_release()
 *   failed_precondition  as aqua_kv_pool_release()
 *   unavailable          the keeper is away
 * What goes wrong later is told by aqua_kv_pool_undelivered(). */
AQUA_CALL aqua_error* aqua_kv_pool_hand_over(aqua_kv_pool pool, const aqua_parcel* parcel,
                                             const char* role, aqua_stream stream);
/* What could not be handed over since the last call: work on its stream failed (data_loss), the
 * keeper refused (aborted: the id has a higher turn; invalid_argument: the turn cannot be) or is
 * away. What is handed over behind failed work, and before this has told of it, comes back too. */
AQUA_CALL aqua_error* aqua_kv_pool_undelivered(aqua_kv_pool pool,
                                               const aqua_undelivered* const** undelivered,
                                               size_t* count);
/* Opens a parcel before there is anything in it: a higher turn of the request counts from here on.
 * Its blocks are filled by work of the caller's, a layer at a time or all at once; no call tells of
 * that, since no byte is carried. *number names it in the next three calls.
 * invalid_argument: the id or the role. What is wrong with the turn is told by
 * aqua_kv_pool_deliveries(). */
AQUA_CALL aqua_error* aqua_kv_pool_open(aqua_kv_pool pool, const char* id, uint64_t turn,
                                        const char* role, uint64_t* number);
/* RESERVED, OPEN or CLOSED. The next three: not_found: this member gives no such parcel, or its
 * delivery has come. */
AQUA_CALL aqua_error* aqua_kv_pool_get_parcel_state(aqua_kv_pool pool, uint64_t number,
                                                    aqua_parcel_state* state);
/* It is complete once the work posted to `stream` so far has ended. Of `parcel` its blocks, tokens
 * and note count. invalid_argument, failed_precondition: as aqua_kv_pool_hand_over(), or it is
 * closed. */
AQUA_CALL aqua_error* aqua_kv_pool_close(aqua_kv_pool pool, uint64_t number,
                                         const aqua_parcel* parcel, aqua_stream stream);
/* Takes it back, if nobody has taken it by then: aqua_kv_pool_deliveries() tells which it was.
 * failed_precondition: it continues one that was accepted. */
AQUA_CALL aqua_error* aqua_kv_pool_recall(aqua_kv_pool pool, uint64_t number);
/* What has become of parcels that were opened, since the last call. */
AQUA_CALL aqua_error* aqua_kv_pool_deliveries(aqua_kv_pool pool,
                                              const aqua_delivery* const** deliveries,
                                              size_t* count);

/* --- who takes ---------------------------------------------------------------------------------
 */

/* Parcels for this role, at most `most` of those that are at hand, the oldest first; as many are
 * fetched ahead in the background. They are this member's until aqua_kv_pool_finish(). If it dies
 * before, the next of its role accepts them under a higher turn, as they were closed: append behind
 * their tokens alone. */
AQUA_CALL aqua_error* aqua_kv_pool_accept(aqua_kv_pool pool, size_t most,
                                          const aqua_parcel* const** parcels, size_t* count);
/* All of it is where it is needed: the giver is told. not_found: no such parcel is this member's.
 */
AQUA_CALL aqua_error* aqua_kv_pool_confirm(aqua_kv_pool pool, uint64_t number);
/* The work on it has ended: lets go of its blocks once the work posted to `stream` so far has.
 * not_found as above; the stream as aqua_kv_pool_release(). */
AQUA_CALL aqua_error* aqua_kv_pool_finish(aqua_kv_pool pool, uint64_t number, aqua_stream stream);
/* Numbers of this member's parcels that are superseded since the last call: what it makes of them
 * counts no more, and they are to be finished. */
AQUA_CALL aqua_error* aqua_kv_pool_superseded(aqua_kv_pool pool, const uint64_t** numbers,
                                              size_t* count);
/* Names a parcel that does not come. */
typedef struct aqua_parcel_head {
  size_t struct_size;
  const char* id;
  uint64_t turn; /* under which its giver spoke */
} aqua_parcel_head;

/* Parcels for this role that do not come under this turn, since the last call: their giver ended
 * before they were closed, or took them back, or they were cancelled. What was complete of a lower
 * turn comes all the same, and another turn may come, or have come. Of what is not asked for up
 * to 4,096 are kept. */
AQUA_CALL aqua_error* aqua_kv_pool_cut_off(aqua_kv_pool pool, const aqua_parcel_head* const** heads,
                                           size_t* count);

/* Waits until there is news for this member since the last call: parcels, blocks, something
 * undelivered, delivered or cut off, or the keeper's end. *news is 1 then, and 0 where none came
 * within patience_ms. A pool that is freed meanwhile goes when this returns, and its runtime stays
 * open until then. */
AQUA_CALL aqua_error* aqua_kv_pool_wait(aqua_kv_pool pool, uint32_t patience_ms, int* news);

/* --- who looks after pools, a member or not -----------------------------------------------------
 *
 * By name (aqua/handoff/pools.hpp); each blocks for the keeper. `keeper`: as
 * aqua_kv_pool_options::keeper. unavailable and permission_denied as aqua_kv_pool_attach(). */

/* Ends a parcel that nobody has taken, under whatever turn: of a request that was cancelled, say.
 * The blocks of a closed one are free then; of an open one they stay its giver's. not_found: no
 * such pool, or no such parcel; failed_precondition: it is taken, and waits again if its taker
 * dies. */
AQUA_CALL aqua_error* aqua_kv_pool_cancel_parcel(const char* pool, const char* id,
                                                 const char* keeper);
/* One role's members may have less of the pool from now on, and another's as much more: the blocks
 * of so many slabs. Nothing is taken from anybody.
 *   not_found            no such pool, or one of the roles has no quota
 *   invalid_argument     no slabs, or from a role to itself
 *   resource_exhausted   the first role would be left with no block */
AQUA_CALL aqua_error* aqua_kv_pool_move_quota(const char* pool, const char* from, const char* to,
                                              uint32_t slabs, const char* keeper);
/* Says that nothing writes to the quarantined blocks of a pool any more: the device was idle since
 * the deaths, say. A wrong word costs bytes. not_found: no such pool. */
AQUA_CALL aqua_error* aqua_kv_pool_release_quarantined(const char* pool, const char* keeper);
/* Ends a pool of which nobody is a member, with the parcels that wait in it. not_found: there is
 * none; failed_precondition: it has members, or one whose end is not proven. */
AQUA_CALL aqua_error* aqua_kv_pool_remove(const char* pool, const char* keeper);

#ifdef __cplusplus
}
#endif

#endif
