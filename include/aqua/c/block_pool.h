/* SPDX-License-Identifier: Apache-2.0 */
/* Block pools: an engine's free list of KV blocks, whose size changes while the engine runs. A
 * block has the same number in every layer, and low numbers are handed out first. Numbers only: a
 * block pool belongs to no runtime.
 *
 * aqua_layer_pool_resize_with() and aqua_layer_pool_adapt() change the size of a list together with
 * the frames, and do all that the second half of this header is for: that half serves engines whose
 * memory grows and shrinks by other means. How its calls follow each other is shown at the top of
 * aqua/layer_swap/block_pool.hpp. */
#ifndef AQUA_C_BLOCK_POOL_H
#define AQUA_C_BLOCK_POOL_H

#include "aqua/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block of a sequence that goes to another number. Part of arrays: never changes. */
typedef struct aqua_block_move {
  uint64_t sequence;
  uint32_t from;
  uint32_t to;
} aqua_block_move;

typedef struct aqua_block_pool_info {
  size_t struct_size;
  uint32_t layers;
  uint32_t usable_blocks; /* that sequences may have: the lesser of the old size and the new */
  uint32_t target_blocks; /* the new size */
  uint32_t free_blocks;   /* that aqua_block_pool_allocate() would give */
  uint32_t resizing;      /* 1: not every layer has the new size */
  uint32_t vacated;       /* 1: no block past usable_blocks is held */
} aqua_block_pool_info;
#define AQUA_BLOCK_POOL_INFO_INIT \
  { sizeof(aqua_block_pool_info), 0, 0, 0, 0, 0, 0 }

/* invalid_argument: no layers, or no blocks. */
AQUA_CALL aqua_error* aqua_block_pool_create(uint32_t layers, uint32_t blocks,
                                             aqua_block_pool* pool);
AQUA_CALL aqua_error* aqua_block_pool_free(aqua_block_pool pool);
AQUA_CALL aqua_error* aqua_block_pool_get_info(aqua_block_pool pool, aqua_block_pool_info* info);

/* Appends `count` blocks to those of a sequence and writes their numbers to `blocks`, which has
 * room for as many. resource_exhausted   so many are not free, or are kept for moves
 *   failed_precondition  the sequence is to be preempted */
AQUA_CALL aqua_error* aqua_block_pool_allocate(aqua_block_pool pool, uint64_t sequence,
                                               uint32_t count, uint32_t* blocks);
/* Takes all blocks of a sequence back. Copies of its moves are over, or have not begun. not_found:
 * it has none. */
AQUA_CALL aqua_error* aqua_block_pool_release(aqua_block_pool pool, uint64_t sequence);
/* Writes the blocks of a sequence, in the order of its tokens, as far as `capacity` goes. *count is
 * how many it has, which may be more; of an unknown sequence 0. `blocks` may be NULL where
 * `capacity` is 0. */
AQUA_CALL aqua_error* aqua_block_pool_get_blocks(aqua_block_pool pool, uint64_t sequence,
                                                 uint32_t* blocks, size_t capacity, size_t* count);

/* Writes the sequences that hold blocks, by number, as far as `capacity` goes: those whose KV is
 * gone when a call on a layer pool says data_loss. *count is how many there are, which may be more.
 * `sequences` may be NULL where `capacity` is 0. */
AQUA_CALL aqua_error* aqua_block_pool_get_sequences(aqua_block_pool pool, uint64_t* sequences,
                                                    size_t capacity, size_t* count);

/* Changes the size, and writes the sequences to preempt, last come first: at most as many as there
 * are usable blocks. A growth that is not complete may be followed by another size.
 *   invalid_argument     to no blocks, or `capacity` is less than the sequences to preempt
 *   failed_precondition  blocks are leaving for an earlier call */
AQUA_CALL aqua_error* aqua_block_pool_resize(aqua_block_pool pool, uint32_t blocks,
                                             uint64_t* preempt, size_t capacity, size_t* count);
/* Writes the moves that have a place to go, each once: at most as many as there are usable blocks.
 * Those that wait for a preempted sequence's blocks follow after its release. invalid_argument:
 * `capacity` is less than the moves; none is taken then. */
AQUA_CALL aqua_error* aqua_block_pool_take_moves(aqua_block_pool pool, aqua_block_move* moves,
                                                 size_t capacity, size_t* count);
/* Says that a block was copied in every layer. not_found: no such move was taken. */
AQUA_CALL aqua_error* aqua_block_pool_moved(aqua_block_pool pool, uint32_t from);
/* Says that a layer has the memory of the new size.
 *   failed_precondition  no resize is under way, or blocks past its end are held
 *   invalid_argument     no such layer, or twice */
AQUA_CALL aqua_error* aqua_block_pool_layer_ready(aqua_block_pool pool, uint32_t layer);

#ifdef __cplusplus
}
#endif

#endif
