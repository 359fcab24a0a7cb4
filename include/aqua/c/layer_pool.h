/* SPDX-License-Identifier: Apache-2.0 */
/* Layer pools: the paged KV of a model's layers in fewer frames than there are layers, so that the
 * same device memory holds more blocks. The comment of aqua/layer_swap/layer_pool.hpp says what a
 * step is, which bytes count and what an engine does when bytes are lost; it holds here too.
 *
 * Threads:  calls on one pool come one after the other, each waiting for the one before it. No call
 *           on a pool is made in a kernel of an emulated GPU.
 * on_resize runs within aqua_layer_pool_resize_with() and aqua_layer_pool_adapt(), on the thread
 *           that called. It may make every call of aqua/c/block_pool.h on the list but _resize(),
 *           _take_moves(), _moved() and _layer_ready(), which the call on the pool makes itself;
 *           and on the pool aqua_layer_pool_offload(), _fetch() and those that only ask. Others on
 *           the pool are failed_precondition there.
 * Memory:   when the process runs out of memory in the middle of a call that does more than ask,
 *           that call says resource_exhausted, and the pool's bytes count as lost: data_loss from
 *           then on, until aqua_layer_pool_discard(). After a change of frames that ended so the
 *           pool is good for aqua_layer_pool_free() only. */
#ifndef AQUA_C_LAYER_POOL_H
#define AQUA_C_LAYER_POOL_H

#include "aqua/c/block_pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What resize_with() and adapt() tell an engine whose blocks are a block pool's. */
typedef struct aqua_layer_pool_change {
  size_t struct_size;
  uint32_t frames;        /* that there are to be */
  uint32_t usable_blocks; /* that they hold */
  /* Sequences whose blocks are needed: copy them out with aqua_layer_pool_offload(), or not, and
   * aqua_block_pool_release() them, in the callback or before the next call. */
  const uint64_t* preempt;
  size_t preempt_count;
  /* Blocks that are copied, in every layer. aqua_block_pool_get_blocks() has the new lists. */
  const aqua_block_move* moved;
  size_t moved_count;
  uint32_t done; /* 1: the frames are there */
} aqua_layer_pool_change;

typedef struct aqua_layer_pool_options {
  size_t struct_size;
  uint32_t layers;           /* that have KV, all of one size: 3 to 256 */
  uint32_t planes_per_layer; /* two, or one where keys and values share */
  size_t block_bytes;        /* of one block in one plane */
  size_t device_bytes;       /* of all frames; whole slabs are taken */
  uint32_t frames;           /* at first, from 3 to `layers`. 0: `layers`, nothing is away */
  const char* goal;          /* what aqua_layer_pool_adapt() chooses the frames for. Empty: nothing.
                                "capacity": the same memory holds more blocks. "memory": fewer frames
                                hold the same blocks, and the memory that they leave is lent. With a
                                goal every layer has a frame at first */
  void* user;                /* given to on_resize; lives until the pool is freed */
  /* What it is given is gone when it returns. NULL: nobody is told. */
  void (*on_resize)(void* user, const aqua_layer_pool_change* change);
  const char* schedule; /* which layers move when; empty: "fixed", the same in every step. "fifo",
                           Pie's own: where a layer is changes, and a host should wait for a
                           layer's kernels before it begins the next, or has its layers late */
  size_t slab_bytes;    /* frames grow by a slab in each plane at a time. 0: 2 MiB */
  const char* name;     /* of its tensors, for people; empty: "layer pool" */
} aqua_layer_pool_options;
#define AQUA_LAYER_POOL_OPTIONS_INIT \
  { sizeof(aqua_layer_pool_options), 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, NULL }

/* What an engine knows of a step, for a pool with a goal. */
typedef struct aqua_step_load {
  size_t struct_size;
  uint32_t blocks_used;   /* by sequences that are on the device */
  uint32_t blocks_wanted; /* by these and by those that wait */
} aqua_step_load;
#define AQUA_STEP_LOAD_INIT \
  { sizeof(aqua_step_load), 0, 0 }

typedef struct aqua_layer_pool_status {
  size_t struct_size;
  uint32_t frames;
  uint32_t usable_blocks;
  uint32_t streamed_layers; /* the others stay */
  uint32_t proposed_frames; /* of a pool with a goal; 0 without */
  uint64_t steps;           /* ended */
  uint64_t fetched_bytes;   /* copies posted by steps so far; a block counts once for each layer */
  uint64_t written_bytes;
  size_t away_bytes;      /* what the streamed layers take off this device, */
  size_t away_peer_bytes; /* and the part of it in lent memory */
  uint64_t resizes;
  /* The device's seconds of the steps that were measured: that layers computed and waited for
   * others to come in, and that the link was busy each way. */
  double compute_seconds;
  double stall_seconds;
  double fetch_seconds;
  double write_seconds;
  char reason[AQUA_NAME_BYTES]; /* of proposed_frames, in a word: "start", "wanted", "stalls",
                                   "link", "unpaid", "not_wanted" or "applied"; empty without a
                                   goal */
} aqua_layer_pool_status;
#define AQUA_LAYER_POOL_STATUS_INIT                                             \
  {                                                                             \
    sizeof(aqua_layer_pool_status), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { \
      0                                                                         \
    }                                                                           \
  }

/* invalid_argument names an option that cannot be; resource_exhausted: the device has less memory,
 * or host memory no room for the exits of what is to be away. */
AQUA_CALL aqua_error* aqua_layer_pool_create(aqua_runtime runtime,
                                             const aqua_layer_pool_options* options,
                                             aqua_layer_pool* pool);
/* Waits for its copies. No kernel that uses it may be in flight. */
AQUA_CALL aqua_error* aqua_layer_pool_free(aqua_layer_pool pool);

/* Device address of a plane of a layer, fixed for the pool's life: block b is at b * block_bytes.
 * With the schedule "fifo" it is that of the frame that the layer is in, comes into or leaves,
 * until the next begin_layer(), change of frames or discard(); the bytes there are the layer's only
 * between its begin_layer() and end_layer(). failed_precondition: of "fifo", and the layer is
 * away. */
AQUA_CALL aqua_error* aqua_layer_pool_get_plane(aqua_layer_pool pool, uint32_t layer,
                                                uint32_t plane, void** address);
/* Blocks that the frames hold: those below may be used. */
AQUA_CALL aqua_error* aqua_layer_pool_usable_blocks(aqua_layer_pool pool, uint32_t* blocks);
/* What so many frames would hold; 0 for fewer than 3, and for more than there are layers. */
AQUA_CALL aqua_error* aqua_layer_pool_usable_blocks_with(aqua_layer_pool pool, uint32_t frames,
                                                         uint32_t* blocks);
/* What so many blocks take of a tensor. invalid_argument: more bytes than a size_t counts. */
AQUA_CALL aqua_error* aqua_layer_pool_packed_bytes(aqua_layer_pool pool, size_t blocks,
                                                   size_t* bytes);
AQUA_CALL aqua_error* aqua_layer_pool_get_status(aqua_layer_pool pool,
                                                 aqua_layer_pool_status* status);

/* --- a step: one pass through the layers, in order ----------------------------------------------
 * Begins a step, whose kernels are launched on `stream`. It reads the blocks of `reads` and may
 * write those of `writes`; a block that it writes only in part is in both. The lists are not needed
 * any more afterwards, and may be NULL where they are empty.
 *   invalid_argument     a block that is not usable, or is listed twice; the stream
 *   failed_precondition  the step before has not ended, or the stream is in a graph's capture
 *   data_loss            bytes are lost: discard */
AQUA_CALL aqua_error* aqua_layer_pool_begin_step(aqua_layer_pool pool, aqua_stream stream,
                                                 const uint32_t* reads, size_t read_count,
                                                 const uint32_t* writes, size_t write_count);
/* From now on the stream has the layer's blocks of `reads` at its planes. No host thread waits.
 *   invalid_argument     another layer is next
 *   failed_precondition  no step was begun, or the layer before has not ended; or the layer is
 *                        streamed, and the stream is in a graph's capture
 *   data_loss            the step cannot go on: discard
 * and with the schedule "fifo", which moves layers here, the errors of end_layer(). */
AQUA_CALL aqua_error* aqua_layer_pool_begin_layer(aqua_layer_pool pool, uint32_t layer);
/* The layer's kernels are launched. Errors as those of aqua_layer_pool_begin_layer(), and
 *   unavailable          what is away has moved, and pins still hold its old place. Said at once
 * After this error, and any other but those, nothing is lost: call it again for this layer. */
AQUA_CALL aqua_error* aqua_layer_pool_end_layer(aqua_layer_pool pool, uint32_t layer);
/* *step is the step's number, from 1 on. `load` may be NULL. failed_precondition: not every layer
 * has ended. */
AQUA_CALL aqua_error* aqua_layer_pool_end_step(aqua_layer_pool pool, const aqua_step_load* load,
                                               uint64_t* step);
/* *done is 1 once everything that a step's kernels read has come in whole, and what they wrote is
 * safe, of this step and all before; 0 while copies run. Of what aqua_layer_pool_fetch() brought
 * only its own ticket tells.
 *   data_loss         use nothing of this step; so for all before a discard
 *   invalid_argument  a step that has not ended
 *   any other code    ask again */
AQUA_CALL aqua_error* aqua_layer_pool_step_done(aqua_layer_pool pool, uint64_t step, int* done);

/* --- between steps ------------------------------------------------------------------------------
 * Copies blocks to a tensor of the same runtime and back, in the packed form of a layout of all
 * layers, from `offset` on. In order with `stream` as aqua_offload() and aqua_fetch() are, also for
 * layers that are away. `ticket` may be NULL where nobody will ask; its only layer, 0, is all of
 * them.
 *   invalid_argument     a block that is not usable or is listed twice, a tensor that is too small
 *                        or of another runtime, the stream
 *   failed_precondition  within a step; the stream is being captured into a graph
 *   data_loss            bytes of the pool are lost, or the tensor's are
 * After any other code the destination may have changed. */
AQUA_CALL aqua_error* aqua_layer_pool_offload(aqua_layer_pool pool, const uint32_t* blocks,
                                              size_t block_count, aqua_tensor tensor,
                                              aqua_stream stream, size_t offset,
                                              aqua_ticket* ticket);
AQUA_CALL aqua_error* aqua_layer_pool_fetch(aqua_layer_pool pool, aqua_tensor tensor,
                                            const uint32_t* blocks, size_t block_count,
                                            aqua_stream stream, size_t offset, aqua_ticket* ticket);
/* Changes the number of frames. Blocks that are usable before and after keep their bytes, in all
 * layers; those at or past the new number of usable blocks must not be needed any more. Waits for
 * the kernels of the steps so far, for whole layers that are copied, and for mappings. After an
 * error nothing has changed, but after data_loss.
 *   unavailable          some of the memory is lent: aqua_runtime_reclaim() it
 *   invalid_argument     fewer than 3, more than there are layers, or too many for the memory
 *   failed_precondition  within a step, or while a change with a list is under way
 *   resource_exhausted   host memory has no room for the exits of what is to be away */
AQUA_CALL aqua_error* aqua_layer_pool_resize(aqua_layer_pool pool, uint32_t frames);
/* The same with the engine's list of blocks, which has as many as are usable, or fewer: the list
 * gives up blocks before the frames change, on_resize names the sequences to preempt and the blocks
 * that were moved, and more blocks are handed out once every layer has them. `stream`: of the
 * copies that on_resize posts. *done is 1 when the frames are there; 0 while blocks are held that
 * were to be given back, or memory is lent that is being taken back: call again. A change that has
 * begun is completed first, and so is what a list gives up already. The list is used until the call
 * returns.
 *   invalid_argument    also: the stream; a list of other blocks or layers, or not the one that the
 *                       change under way has begun with
 *   resource_exhausted  also: host memory has no room for blocks that are moved; no sequence was
 *                       named then */
AQUA_CALL aqua_error* aqua_layer_pool_resize_with(aqua_layer_pool pool, uint32_t frames,
                                                  aqua_block_pool blocks, aqua_stream stream,
                                                  int* done);
/* The frames that the steps measured so far ask for, and where layers lie now; those there are,
 * without a goal. Waits for nothing. Ranks of one model resize to the most that any of them
 * proposes. */
AQUA_CALL aqua_error* aqua_layer_pool_propose(aqua_layer_pool pool, uint32_t* frames);
/* As aqua_layer_pool_resize_with() to what is proposed; does nothing where the frames are those.
 * What has no room (resource_exhausted) is not proposed again for long. */
AQUA_CALL aqua_error* aqua_layer_pool_adapt(aqua_layer_pool pool, aqua_block_pool blocks,
                                            aqua_stream stream, int* done);
/* Ends the step and the change that are under way, if any are, and empties every block, also after
 * data_loss: of the sequences that aqua_block_pool_get_sequences() writes none has its KV any more.
 * With the schedule "fifo" layers are at other addresses afterwards. Waits as a resize does.
 *   resource_exhausted   no room for what is away; free some and call it again
 *   failed_precondition  a change of frames could not be undone: free the pool */
AQUA_CALL aqua_error* aqua_layer_pool_discard(aqua_layer_pool pool);

#ifdef __cplusplus
}
#endif

#endif
