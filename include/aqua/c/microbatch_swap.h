/* SPDX-License-Identifier: Apache-2.0 */
/* Microbatch swapping: of the microbatches of a pipeline stage that take turns only the one that is
 * computed and the one that comes next have their KV on the device
 * (aqua/kv_stream/microbatch_swap.hpp). What is away lies in memory that neighbours lend, or else
 * in host memory.
 *
 * A buffer is device memory of the engine's with the layout of its paged KV cache; each microbatch
 * has as many blocks as a buffer, of its own numbers. A block is *held* once a turn has written it,
 * until it is dropped. A turn's kernels read blocks that are held, and may write any. A block that
 * they write only in part keeps its other bytes if it was held; else those are undefined.
 *
 * Threads: every call may be made concurrently; those on one swap come one after the other. None
 *          waits for a copy or for the device, but free; and one that finds no memory waits for the
 *          copies that it had begun to post.
 * Memory:  a call that finds none (resource_exhausted) may have ended in its middle. Where it has,
 *          all further calls on that swap say aborted, but those that free it or tell its status.
 * Units:   bytes; microbatches and blocks are numbered from 0. */
#ifndef AQUA_C_MICROBATCH_SWAP_H
#define AQUA_C_MICROBATCH_SWAP_H

#include "aqua/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All that is pointed to is copied. */
typedef struct aqua_microbatch_swap_options {
  size_t struct_size;
  const aqua_layout* buffers; /* two of them, or one for two microbatches: alike but for their
                                 addresses, with no byte in common */
  size_t buffer_count;
  const char* name;      /* of its tensors, for people; empty: "microbatch" */
  uint32_t microbatches; /* that take turns: 2 to 1024 */
} aqua_microbatch_swap_options;
#define AQUA_MICROBATCH_SWAP_OPTIONS_INIT \
  { sizeof(aqua_microbatch_swap_options), NULL, 0, NULL, 0 }

typedef struct aqua_microbatch_swap_status {
  size_t struct_size;
  uint64_t turns;         /* ended */
  uint64_t foreseen;      /* of those begun: the KV was in a buffer, or on its way */
  uint64_t unforeseen;    /* it had to be asked for then, as of a turn out of order */
  uint64_t fetched_bytes; /* copies posted so far, in ... */
  uint64_t written_bytes; /* ... and out */
  size_t away_bytes;      /* reserved away from the device */
  size_t away_peer_bytes; /* ... of which in lent memory */
} aqua_microbatch_swap_status;
#define AQUA_MICROBATCH_SWAP_STATUS_INIT \
  { sizeof(aqua_microbatch_swap_status), 0, 0, 0, 0, 0, 0, 0 }

/* The buffers' memory stays for as long as the swap.
 *   invalid_argument    an option cannot be; it is named
 *   resource_exhausted  host memory has no room for the exits of what is to be away */
AQUA_CALL aqua_error* aqua_microbatch_swap_create(aqua_runtime runtime,
                                                  const aqua_microbatch_swap_options* options,
                                                  aqua_microbatch_swap* swap);
/* Waits for its copies; the kernels that use it have ended. While another thread is in a call on it
 * this returns at once: the last such call waits and frees as it returns, and until then the
 * buffers' memory stays. No kernel may be in such a call: it would wait for itself, for ever.
 * failed_precondition: this is a callback or a kernel, which it might wait for. */
AQUA_CALL aqua_error* aqua_microbatch_swap_free(aqua_microbatch_swap swap);
AQUA_CALL aqua_error* aqua_microbatch_swap_get_status(aqua_microbatch_swap swap,
                                                      aqua_microbatch_swap_status* status);

#define AQUA_NEXT_IN_ORDER UINT32_MAX
/* Has `stream`, on which the turn's kernels are launched, wait until the held blocks of the
 * microbatch are in a buffer, whose number is written; and has those of the `next` one come in. The
 * other buffer is not for these kernels. AQUA_NEXT_IN_ORDER: the next higher number that holds
 * blocks, after the last one the first. Name it where one that holds nothing has its turn next, or
 * where turns go in another order.
 *   invalid_argument     a microbatch that is none; the stream
 *   failed_precondition  the turn before has not ended, or the stream is being captured
 *   data_loss            the microbatch is lost: aqua_microbatch_swap_clear() it
 *   aborted              memory ran out in the middle of an earlier call, and it is to be freed
 * After any other code ask again. */
AQUA_CALL aqua_error* aqua_microbatch_swap_begin_turn(aqua_microbatch_swap swap, aqua_stream stream,
                                                      uint32_t microbatch, uint32_t next,
                                                      uint32_t* buffer);
/* The kernels are launched, and write these blocks, which are held from now on. *turn is the turn's
 * number, from 1 on.
 *   invalid_argument     a block that is none, or listed twice
 *   failed_precondition  no turn was begun; or the stream is being captured
 *   data_loss            the blocks could not go out, or what the turn read is lost: the turn has
 *                        ended without a number, clear the microbatch */
AQUA_CALL aqua_error* aqua_microbatch_swap_end_turn(aqua_microbatch_swap swap,
                                                    const uint32_t* writes, size_t count,
                                                    uint64_t* turn);
/* *done is 1 once everything that the turn's kernels read has come in whole, and what they wrote is
 * safe; 0 while copies run. data_loss: use nothing that the turn computed. invalid_argument for a
 * turn that has not ended; aborted: memory ran out in the middle of an earlier call. Any other
 * code: ask again. */
AQUA_CALL aqua_error* aqua_microbatch_swap_turn_done(aqua_microbatch_swap swap, uint64_t turn,
                                                     int* done);
/* These blocks are not held any more, as those of a request that ended before the others. Blocks
 * that are not held are passed over. invalid_argument: a microbatch or a block that is none;
 * failed_precondition: its turn has not ended. */
AQUA_CALL aqua_error* aqua_microbatch_swap_drop(aqua_microbatch_swap swap, uint32_t microbatch,
                                                const uint32_t* blocks, size_t count);
/* The microbatch has ended, or is lost: it holds nothing, and its next turn is that of a new one.
 * Errors as of _drop(); and of one that is lost resource_exhausted: host memory has no room for its
 * new exits, call again. */
AQUA_CALL aqua_error* aqua_microbatch_swap_clear(aqua_microbatch_swap swap, uint32_t microbatch);

#ifdef __cplusplus
}
#endif

#endif
