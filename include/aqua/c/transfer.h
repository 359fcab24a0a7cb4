/* SPDX-License-Identifier: Apache-2.0 */
/* Moving KV blocks between an engine's cache and a tensor, and the tickets that tell how far
 * it is. */
#ifndef AQUA_C_TRANSFER_H
#define AQUA_C_TRANSFER_H

#include "aqua/c/error.h"
#include "aqua/c/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Queues the move of the listed blocks to (offload) or from (fetch) the tensor, from `offset`
 * on, in the layout's packed form. In stream order: after the work posted to `stream` before,
 * before the work posted afterwards. The list and the layout are not needed once it returns.
 * `ticket` may be NULL where nobody will ask.
 *   invalid_argument  a block number twice or too large, more bytes than the tensor has from
 *                     `offset` on, a stream of another device
 *   data_loss         the tensor's bytes are gone
 * On an error nothing has changed but, for codes of the device, the destination. */
AQUA_CALL aqua_error* aqua_offload(aqua_layout layout, const uint32_t* blocks, size_t block_count,
                                   aqua_tensor tensor, aqua_stream stream, size_t offset,
                                   aqua_ticket* ticket);
AQUA_CALL aqua_error* aqua_fetch(aqua_tensor tensor, aqua_layout layout, const uint32_t* blocks,
                                 size_t block_count, aqua_stream stream, size_t offset,
                                 aqua_ticket* ticket);

/* The same for a part of a sequence, and nothing else: the tensor's side is the packed form of the
 * range (aqua/c/layout.h), which another layout may have written. The ticket counts the range's
 * layers from 0.
 *   invalid_argument  also: a range that the blocks do not have */
AQUA_CALL aqua_error* aqua_offload_range(aqua_layout layout, const uint32_t* blocks,
                                         size_t block_count, const aqua_kv_range* range,
                                         aqua_tensor tensor, aqua_stream stream, size_t offset,
                                         aqua_ticket* ticket);
AQUA_CALL aqua_error* aqua_fetch_range(aqua_tensor tensor, aqua_layout layout,
                                       const uint32_t* blocks, size_t block_count,
                                       const aqua_kv_range* range, aqua_stream stream,
                                       size_t offset, aqua_ticket* ticket);

/* Part of a tensor that is laid out as a cache is: for each plane, one after another, `count` pages
 * of one block each, without gaps. The packed form of n blocks is n pages, of which block i has the
 * i-th. */
typedef struct aqua_tensor_pages {
  size_t struct_size;
  uint32_t count;        /* pages in each plane */
  const uint32_t* pages; /* one for each block of the call's list, each once */
  size_t offset;         /* where the first plane begins in the tensor */
} aqua_tensor_pages;
#define AQUA_TENSOR_PAGES_INIT \
  { sizeof(aqua_tensor_pages), 0, NULL, 0 }

/* Moves listed blocks to or from pages of a tensor, in any order; the other pages keep their bytes.
 * Each token and head of a range (NULL: all) keeps its place within its page, and the bytes of all
 * others stay as they are: a step's token goes to where its sequence is kept. Never waits for a
 * move of the tensor, so that pages may be written in every step of an engine. Errors as above, and
 * of aqua_offload_pages() at once
 *   unavailable  pins from before the tensor moved still hold its old place; call it again */
AQUA_CALL aqua_error* aqua_offload_pages(aqua_layout layout, const uint32_t* blocks,
                                         size_t block_count, const aqua_kv_range* range,
                                         aqua_tensor tensor, const aqua_tensor_pages* pages,
                                         aqua_stream stream, aqua_ticket* ticket);
AQUA_CALL aqua_error* aqua_fetch_pages(aqua_tensor tensor, const aqua_tensor_pages* pages,
                                       aqua_layout layout, const uint32_t* blocks,
                                       size_t block_count, const aqua_kv_range* range,
                                       aqua_stream stream, aqua_ticket* ticket);

/* "Still running" is a state, not an error. *done is 1 once every byte has arrived, 0 while work
 * is queued or running.
 *   data_loss    source or destination memory died: recompute the blocks
 *   cancelled    aqua_ticket_cancel() came first
 *   unavailable  its runtime is just being closed; ask again
 *   any other code that is not repeated by the next call: the question failed, ask again */
AQUA_CALL aqua_error* aqua_ticket_done(aqua_ticket ticket, int* done);
/* Blocks this host thread until it is over; the errors are those of aqua_ticket_done(). */
AQUA_CALL aqua_error* aqua_ticket_wait(aqua_ticket ticket);
/* Whether this layer's bytes have all arrived. Layers arrive in order. */
AQUA_CALL aqua_error* aqua_ticket_layer_done(aqua_ticket ticket, uint32_t layer, int* done);
/* Work posted to `stream` after this call runs after this layer's bytes have arrived; no host
 * thread waits. Of a transfer that fails or is cancelled meanwhile the stream goes on all the same:
 * ask aqua_ticket_done() before what the work made of the bytes is used.
 *   invalid_argument     a layer not in the layout; while it runs, a stream that is none of the
 *                        transfer's device
 *   failed_precondition  the stream is being captured into a graph
 *   as aqua_ticket_done() of a transfer that is over and ended badly before this layer */
AQUA_CALL aqua_error* aqua_ticket_stream_wait(aqua_ticket ticket, aqua_stream stream,
                                              uint32_t layer);
/* Skips what has not started; the destination's bytes are undefined afterwards. No effect once
 * it is done. */
AQUA_CALL aqua_error* aqua_ticket_cancel(aqua_ticket ticket);
/* Bytes that the transfer moves in all. */
AQUA_CALL aqua_error* aqua_ticket_get_bytes(aqua_ticket ticket, size_t* bytes);
/* Cancels nothing: the transfer runs on. */
AQUA_CALL aqua_error* aqua_ticket_free(aqua_ticket ticket);

#ifdef __cplusplus
}
#endif

#endif
