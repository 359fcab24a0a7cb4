/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: KV that goes from one pipeline to another whose stages, ranks, blocks and order of heads
 * may all differ (aqua/kv_stream/streamer.hpp): from prefill to decode, layer by layer while the
 * prompt is still computed. Each process of both pipelines has a streamer; which rank sends what to
 * whom follows from the two shapes. Between the caches the bytes lie in segments of a keeper of
 * this server (aqua/handoff/segment_carrier.hpp), which outlive who has streamed them.
 *
 * Threads: every call may be made concurrently. Calls on one streamer and on what it streams out
 *          come one after the other, and so do those on one incoming stream. None waits for a
 *          stream, a socket or another process, but open, wait and free.
 * Lists:   what aqua_streamer_arrived(), _superseded() and _cut_off() answer is the streamer's, and
 *          valid until the next such call of the same name on it, or until it is freed. An empty
 *          list is no error.
 * Memory:  open, and the streamer's own threads, speak to the keeper, and end the process where
 *          that finds no memory for a few kilobytes. Another call that finds none
 *          (resource_exhausted) may have ended in its middle. Where it has, all further calls on
 *          that streamer and its streams say aborted, but those that free, wait or tell its
 *          status: free it and open another one. Sequences that had not been finished come to
 *          that, and those that were on their way out are streamed as another attempt. */
#ifndef AQUA_C_STREAMER_H
#define AQUA_C_STREAMER_H

#include "aqua/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What there is of a token in a model's KV, before it is dealt to ranks. */
typedef struct aqua_kv_shape {
  size_t struct_size;
  uint32_t layers;
  uint32_t planes_per_layer; /* keys and values, or 1 */
  uint32_t kv_heads;         /* 1 for latents (MLA), which every rank has whole */
  uint32_t tokens_per_block;
  size_t head_bytes;  /* of one head of one token in one plane */
  const char* format; /* all else that has to be alike: type of elements, scales, rope */
} aqua_kv_shape;
#define AQUA_KV_SHAPE_INIT \
  { sizeof(aqua_kv_shape), 0, 2, 0, 0, 0, NULL }

/* How it is dealt. Rank number stage * tensor_ranks + i is the i-th of its stage. */
typedef struct aqua_parallelism {
  size_t struct_size;
  const uint32_t* stage_layers; /* of each stage, in order */
  size_t stage_layer_count;     /* stages; 0: one */
  const uint32_t* heads;        /* which heads the ranks of a stage have, rank after rank */
  size_t head_count; /* 0: 0, 1, 2, ...; where ranks outnumber heads each as often as it takes */
  uint32_t tensor_ranks; /* of each stage */
} aqua_parallelism;
#define AQUA_PARALLELISM_INIT \
  { sizeof(aqua_parallelism), NULL, 0, NULL, 0, 1 }

/* A pipeline that streams here or is streamed to. */
typedef struct aqua_stream_group {
  size_t struct_size;
  const char* name; /* 1 to 64 letters, digits, '-' and '_' */
  const aqua_kv_shape* shape;
  const aqua_parallelism* parallelism; /* NULL: one rank */
} aqua_stream_group;
#define AQUA_STREAM_GROUP_INIT \
  { sizeof(aqua_stream_group), NULL, NULL, NULL }

/* All that is pointed to is copied. */
typedef struct aqua_streamer_options {
  size_t struct_size;
  const char* group;                   /* this process's pipeline, as aqua_stream_group.name ... */
  const aqua_kv_shape* shape;          /* ... and how it has the KV */
  const aqua_parallelism* parallelism; /* NULL: one rank */
  const aqua_stream_group* const* others;
  size_t other_count;
  const char* name;    /* of those who stream to each other: 1 to 128 bytes of printable ASCII */
  const char* keeper;  /* its socket; NULL: $AQUA_KEEPER, else where aqua-keeper puts it */
  size_t parcel_bytes; /* of the largest part of a sequence that one rank sends to another */
  uint32_t rank;       /* of this process in its pipeline */
  uint32_t ready;      /* segments to have here ahead of need. Who only takes needs none */
} aqua_streamer_options;
#define AQUA_STREAMER_OPTIONS_INIT \
  { sizeof(aqua_streamer_options), NULL, NULL, NULL, NULL, 0, NULL, NULL, (size_t)64 << 20, 0, 2 }

typedef struct aqua_streamer_status {
  size_t struct_size;
  uint64_t refused;   /* parcels that cannot be; none of their bytes landed */
  size_t giving;      /* parcels on their way out */
  size_t taken;       /* parcels that have come, and whose sequences are not finished */
  size_t ready;       /* segments at hand for parcels to be opened */
  uint32_t connected; /* 1: to the keeper. Once 0 it stays so, and nothing is carried any more */
  char error[256];    /* why the last parcel was refused; cut off where it does not fit */
  char keeper_error[256]; /* why not connected, or what the keeper refused last; likewise */
  uint64_t arrived;       /* attempts that aqua_streamer_arrived() has told of */
  uint64_t cut_off;       /* ... and aqua_streamer_cut_off() */
} aqua_streamer_status;
#define AQUA_STREAMER_STATUS_INIT \
  { sizeof(aqua_streamer_status), 0, 0, 0, 0, 0, {0}, {0}, 0, 0 }

/* Asks the keeper for segments and maps them; blocks for both. The layout is copied: its memory
 * stays for as long as the streamer.
 *   invalid_argument     an option cannot be
 *   invalid_argument     the layout's layers, planes, heads or tokens of a block are not the rank's
 *   failed_precondition  another group's shape is of another model
 *   failed_precondition  a KV pool has the name
 *   unavailable          no keeper listens, or it does not answer
 *   permission_denied    the keeper is another user's
 *   resource_exhausted   the keeper, or the server, has no room for the segments */
AQUA_CALL aqua_error* aqua_streamer_open(aqua_runtime runtime, aqua_layout layout,
                                         const aqua_streamer_options* options,
                                         aqua_streamer* streamer);
/* It goes with the last of its streams, if some are left: who frees that waits until what was
 * posted so far has ended, and what was finished is the keeper's. Sequences that were not finished
 * come to the next streamer of this rank. failed_precondition: this is a callback or a kernel,
 * which it might wait for. */
AQUA_CALL aqua_error* aqua_streamer_free(aqua_streamer streamer);
AQUA_CALL aqua_error* aqua_streamer_get_status(aqua_streamer streamer,
                                               aqua_streamer_status* status);
/* Waits until there is news since the last call: room, something that arrived, landed, is
 * superseded or cut off, or the keeper's end. *news is 1 then, and 0 where none came within
 * patience_ms. A streamer that is freed meanwhile goes when this returns. */
AQUA_CALL aqua_error* aqua_streamer_wait(aqua_streamer streamer, uint32_t patience_ms, int* news);

/* --- who sends ------------------------------------------------------------------------------ */

typedef struct aqua_stream_out_options {
  size_t struct_size;
  uint64_t sequence;
  const char* to;         /* the name of one of aqua_streamer_options.others */
  const uint32_t* blocks; /* the sequence's, in the order of its tokens; copied. None: they are
                             given later, to aqua_stream_out_set_blocks() */
  size_t block_count;
  uint32_t tokens;  /* that are streamed, from the first on */
  uint32_t attempt; /* higher than each before it for this sequence; 1 to 33,554,432 (2^25) */
} aqua_stream_out_options;
#define AQUA_STREAM_OUT_OPTIONS_INIT \
  { sizeof(aqua_stream_out_options), 0, NULL, NULL, 0, 0, 1 }

/* Asks each receiver for room. Nothing has to be computed yet, and no block be there.
 *   not_found         no such group
 *   invalid_argument  no tokens, or more than the blocks have; an attempt that cannot be; blocks
 *                     that are none
 *   unavailable       nothing is carried any more
 * An attempt that was made before is told by aqua_stream_out_ready(): aborted. */
AQUA_CALL aqua_error* aqua_streamer_stream_out(aqua_streamer streamer,
                                               const aqua_stream_out_options* options,
                                               aqua_stream_out* out);
/* *ready is 1 once all receivers have room: before that nothing can be streamed. Any error: it
 * cannot be streamed any more; stream it again as another attempt. */
AQUA_CALL aqua_error* aqua_stream_out_ready(aqua_stream_out out, int* ready);
/* Gives blocks to a sequence that was opened without: as aqua_stream_out_options.blocks, with room
 * for all of its tokens.
 *   invalid_argument     blocks that are none, or too few
 *   failed_precondition  it has blocks
 *   cancelled            it was taken back */
AQUA_CALL aqua_error* aqua_stream_out_set_blocks(aqua_stream_out out, const uint32_t* blocks,
                                                 size_t block_count);
/* The layer's keys and values of all tokens are written by the work posted to `stream` so far:
 * copies them behind it. Each layer once, in any order, counted as the layout does.
 *   invalid_argument     no such layer, it was given before, or the stream
 *   failed_precondition  not ready, finished, or without blocks; or the stream is being captured
 *   cancelled            it was taken back
 * Any other error: it cannot be streamed any more. Where a part of the layer could not be copied,
 * this call says why (resource_exhausted, say), and takes it back: later ones say cancelled. */
AQUA_CALL aqua_error* aqua_stream_out_layer(aqua_stream_out out, uint32_t layer,
                                            aqua_stream stream);
#define AQUA_MAX_WORDS_BYTES 3072
/* All layers were given. The words are the engine's to whoever takes the sequence, the same of all
 * ranks: the token that is pending, say.
 *   invalid_argument     more than AQUA_MAX_WORDS_BYTES of words, or the stream
 *   failed_precondition  a layer is missing, or it was called before; or the stream is captured
 *   cancelled            it was taken back, as it is once a call has told of any other error */
AQUA_CALL aqua_error* aqua_stream_out_finish(aqua_stream_out out, const void* words,
                                             size_t words_bytes, aqua_stream stream);
/* *copied is 1 once the copies have left the blocks, which are free for others then, however slow a
 * receiver is. data_loss: the work before them, or a copy, has failed, and none reads the blocks
 * any more. */
AQUA_CALL aqua_error* aqua_stream_out_copied(aqua_stream_out out, int* copied);
/* *kept is 1 once the receivers get it also if this process ends. Errors as of _ready(). */
AQUA_CALL aqua_error* aqua_stream_out_kept(aqua_stream_out out, int* kept);
/* *landed is 1 once the receivers have all of it where they need it; also where a courier brings it
 * to another server, and a receiver there did not want it while the couriers had no connection.
 * Errors as of _ready().
 *   failed_precondition  a receiver has refused it (its status says why), does not want it any
 *                        more, or could not copy it: it does not land there */
AQUA_CALL aqua_error* aqua_stream_out_landed(aqua_stream_out out, int* landed);
/* Takes back what no receiver has taken. All calls but _copied() and _free() say cancelled then. */
AQUA_CALL aqua_error* aqua_stream_out_cancel(aqua_stream_out out);
/* Cancels it, unless it is finished. As aqua_streamer_free() of the last one of a streamer that is
 * freed. */
AQUA_CALL aqua_error* aqua_stream_out_free(aqua_stream_out out);

/* --- who receives --------------------------------------------------------------------------- */

/* There is room for so many more sequences of this group: to be said anew for each of which
 * aqua_streamer_finish() has said that it had arrived. A later attempt of a sequence has the room
 * of the first.
 *   not_found         no such group
 *   invalid_argument  more than 65,536 in all, of which aqua_streamer_finish() has not said that
 *                     they had arrived: there is room for none of these */
AQUA_CALL aqua_error* aqua_streamer_admit(aqua_streamer streamer, const char* group,
                                          uint32_t sequences);

/* A sequence of which everything for this rank is there to be taken. */
typedef struct aqua_arrived {
  size_t struct_size;
  uint64_t sequence;
  const void* words; /* the sender's */
  size_t words_bytes;
  uint32_t attempt;
  uint32_t tokens;
} aqua_arrived;

/* Sequences that have come since the last call. One that is told again is of a higher attempt: what
 * was streamed in of the earlier one is of no use any more.
 * Unless it is NULL, `wanted` is asked within this call, with `user`, of each sequence that is not
 * told yet, also where only a part of it has come. Where it answers 0 what has come is given up,
 * and there is room for another sequence in its place. A sequence that has ended is not wanted: an
 * attempt that began before its end may come after it, or never be complete. Calls that `wanted`
 * makes on this streamer and what it streams out are failed_precondition, but those that wait or
 * tell its status. */
AQUA_CALL aqua_error* aqua_streamer_arrived(aqua_streamer streamer,
                                            int (*wanted)(void* user, uint64_t sequence),
                                            void* user, const aqua_arrived* const** arrived,
                                            size_t* count);
/* Moves a sequence that has arrived into blocks of this process, behind the work posted to `stream`
 * so far.
 *   not_found            it has not arrived
 *   invalid_argument     fewer blocks than its tokens take, blocks that are none, or the stream
 *   failed_precondition  the stream is being captured
 *   resource_exhausted   a segment cannot be mapped here now: call again
 *   unavailable          it is being mapped: call again
 * After these nothing is on its way into the blocks. invalid_argument is also told of a part that
 * has not all of its layers: finish the sequence. Any other error is the device's: the copies that
 * were queued before it have ended, which was waited for. */
AQUA_CALL aqua_error* aqua_streamer_stream_in(aqua_streamer streamer, uint64_t sequence,
                                              const uint32_t* blocks, size_t block_count,
                                              aqua_stream stream, aqua_stream_in* in);
/* The next four are as those of a ticket (aqua/c/transfer.h), with layers counted as the layout
 * does: an error comes once nothing is written to the blocks, or the layer, any more. Once *done
 * has been 1, or _wait() has returned without an error, the senders are told, unless nothing is
 * carried any more: the bytes are here all the same. */
AQUA_CALL aqua_error* aqua_stream_in_done(aqua_stream_in in, int* done);
AQUA_CALL aqua_error* aqua_stream_in_wait(aqua_stream_in in);
AQUA_CALL aqua_error* aqua_stream_in_layer_done(aqua_stream_in in, uint32_t layer, int* done);
AQUA_CALL aqua_error* aqua_stream_in_stream_wait(aqua_stream_in in, aqua_stream stream,
                                                 uint32_t layer);
/* Cancels nothing: the copies run on. As aqua_streamer_free() of the last one of a streamer that is
 * freed. */
AQUA_CALL aqua_error* aqua_stream_in_free(aqua_stream_in in);
/* The sequence is needed no more, once the work posted to `stream` so far has ended; nobody gets it
 * again. Where it was never streamed in, or a copy into the blocks has failed by now, its senders
 * are told that it does not land.
 * *arrived is 1 if aqua_streamer_arrived() had told of it. 0: it had not, of its highest attempt;
 * what has come of that is given up, and there is room for another in its place already. Room that
 * was promised for what has not come is there again once its sender ends, or takes it back.
 *   invalid_argument, failed_precondition  the stream: there is none, or it is being captured.
 *                                          Where *arrived is 0 it is not looked at */
AQUA_CALL aqua_error* aqua_streamer_finish(aqua_streamer streamer, uint64_t sequence,
                                           aqua_stream stream, int* arrived);
/* Sequences that arrived and count no more since the last call, as another attempt began: finish
 * them. */
AQUA_CALL aqua_error* aqua_streamer_superseded(aqua_streamer streamer, const uint64_t** sequences,
                                               size_t* count);
/* An attempt that does not come any more, as not all of its ranks have streamed it to the end. */
typedef struct aqua_cut_off {
  size_t struct_size;
  uint64_t sequence;
  uint32_t attempt;
} aqua_cut_off;

/* Attempts that do not come, since the last call, each once: a rank that streams them ended, or
 * took back what it had not finished. What comes of them is given up, and there is room for another
 * in their place. No earlier attempt comes any more, a later one may be on its way; and one may be
 * told of whose sequence has ended here. */
AQUA_CALL aqua_error* aqua_streamer_cut_off(aqua_streamer streamer,
                                            const aqua_cut_off* const** attempts, size_t* count);

#ifdef __cplusplus
}
#endif

#endif
