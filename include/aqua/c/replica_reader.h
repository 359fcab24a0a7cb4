/* SPDX-License-Identifier: Apache-2.0 */
/* A replica reader is for the process that takes a dead stage's place: it finds what the keeper has
 * of that stage's KV, says how far each sequence is replicated, and reads it into this process's
 * cache (aqua/kv_stream/replica_reader.hpp). In order:
 *
 * 1. The term is raised, and all members have sealed (aqua_replicator_seal()).
 * 2. aqua_replica_reader_open() lists what the keeper has committed. Only that is ever read here.
 * 3. aqua_replica_reader_get_watermark() of each of aqua_replica_reader_sequences(): from there it
 *    goes on, if all stages have as much, and if to compute its tokens again is not quicker.
 * 4. aqua_replica_reader_restore() reads, aqua_replicator_adopt() goes on from there, and
 *    aqua_replica_reader_finish() drops the rest.
 *
 * KV is a function of the ids of the tokens. A replica says the ids that it was computed from, and
 * counts as far as they are those that are known now: prompt, then tokens that the client has.
 *
 * Threads: every call may be made concurrently; those on one reader come one after the other.
 *          open, finish and free wait for the keeper; a restore that finds no memory waits for the
 *          copies that it had begun to post. No other call waits, but for one of those.
 * Memory:  open, finish, free and the reader's own threads speak to the keeper, and end the process
 *          where that finds no memory for a few kilobytes. A finish that finds none elsewhere is
 *          called again. Another call that finds none (resource_exhausted) may have ended in its
 *          middle. Where it has, all further calls on that reader say aborted, but those that free
 *          it or tell its status; a replicator still adopts what it had restored before. Free it,
 *          and open another one: what the keeper has is there still. That one restores each
 *          sequence again that was adopted from the first, with the same ids, before it finishes:
 *          otherwise it drops the packs that are their replica. Where this cannot be, recovery
 *          begins anew, with a higher term and a new replicator.
 * Units:   tokens. */
#ifndef AQUA_C_REPLICA_READER_H
#define AQUA_C_REPLICA_READER_H

#include "aqua/c/replicator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All that is pointed to is copied. */
typedef struct aqua_replica_reader_options {
  size_t struct_size;
  const aqua_replica_owner* owner; /* the dead one, whose place this process has */
  const char* shape;               /* as aqua_replicator_options.shape of the dead one */
  const char* keeper;              /* as aqua_replicator_options.keeper */
  uint64_t term;                   /* the one that was raised */
  uint32_t patience_ms;            /* how long the keeper may take to open what it has */
} aqua_replica_reader_options;
#define AQUA_REPLICA_READER_OPTIONS_INIT \
  { sizeof(aqua_replica_reader_options), NULL, NULL, NULL, 1, 10000 }

typedef struct aqua_replica_reader_status {
  size_t struct_size;
  size_t packs;       /* of the owner, that are read */
  size_t refused;     /* of the owner, of another shape, or whose digest is wrong */
  size_t unopened;    /* segments that could not be opened, as where there is no memory to map them.
                         They may be the owner's, so that watermarks may be lower than they need be.
                         aqua_replica_reader_finish() tries again */
  char error[256];    /* why the last of those refused or unopened was; cut off where it does not
                         fit */
  size_t other_lives; /* packs of the owner's place in other lives of its group: not read */
} aqua_replica_reader_status;
#define AQUA_REPLICA_READER_STATUS_INIT \
  { sizeof(aqua_replica_reader_status), 0, 0, 0, {0}, 0 }

/*   invalid_argument  a name of other characters than a replicator's
 *   aborted           the keeper has packs of a higher term of this life: this one is over
 *   unavailable       the keeper is away, or silent for longer than patience_ms
 *   as aqua_replicator_create() of the keeper */
AQUA_CALL aqua_error* aqua_replica_reader_open(aqua_runtime runtime,
                                               const aqua_replica_reader_options* options,
                                               aqua_replica_reader* reader);
/* Waits until what was posted so far has ended. What was not dropped stays with the keeper. While
 * another thread is in a call on it this returns at once: the last such call waits and frees as it
 * returns, and until then the blocks may be written. No kernel may be in such a call: it would wait
 * for itself, for ever.
 * failed_precondition: this is a callback or a kernel, which it might wait for. */
AQUA_CALL aqua_error* aqua_replica_reader_free(aqua_replica_reader reader);
AQUA_CALL aqua_error* aqua_replica_reader_get_status(aqua_replica_reader reader,
                                                     aqua_replica_reader_status* status);

/* Sequences of which the owner's packs have anything, in ascending order. Nobody has compared ids
 * yet, and some of them may have ended elsewhere in the pipeline. The list is the reader's, and
 * valid until the next such call on it, or until it is freed. */
AQUA_CALL aqua_error* aqua_replica_reader_sequences(aqua_replica_reader reader,
                                                    const uint64_t** sequences, size_t* count);
/* How many tokens of the sequence can be restored, from the first on, into blocks that have room
 * for `room` tokens: at most as many as there are ids, which are all that are known of it. Copies
 * take pieces as they were written, which may reach behind the last token that counts: a few
 * tokens' room more than ids is well spent. 0: none, as of a sequence that the keeper has nothing
 * of. */
AQUA_CALL aqua_error* aqua_replica_reader_get_watermark(aqua_replica_reader reader,
                                                        uint64_t sequence, const uint32_t* ids,
                                                        size_t id_count, uint32_t room,
                                                        uint32_t* tokens);
/* Copies the latest state of the sampler that was replicated behind ids that are known, and says
 * behind how many of them it was. Once packs are merged, states between are gone: it may be some
 * tokens back. *tokens is 0 where there is none. AQUA_MAX_SAMPLER_BYTES of memory are always
 * enough. invalid_argument: the state has more bytes than `capacity`. */
AQUA_CALL aqua_error* aqua_replica_reader_get_sampler(aqua_replica_reader reader, uint64_t sequence,
                                                      const uint32_t* ids, size_t id_count,
                                                      void* state, size_t capacity,
                                                      size_t* state_bytes, uint32_t* tokens);

typedef struct aqua_restore_options {
  size_t struct_size;
  uint64_t sequence;
  const uint32_t* ids; /* as aqua_replica_reader_get_watermark() was given */
  size_t id_count;
  const uint32_t* blocks; /* of this process's cache, in the order of the tokens */
  size_t block_count;
  uint32_t tokens; /* that are restored, from the first on: at most the watermark */
} aqua_restore_options;
#define AQUA_RESTORE_OPTIONS_INIT \
  { sizeof(aqua_restore_options), 0, NULL, 0, NULL, 0, 0 }

/* Reads KV of the first tokens into these blocks, behind the work posted to `stream` so far and
 * before what is posted afterwards. They are there once the ticket is done; it may be NULL where
 * nobody will ask. What the blocks have behind them is undefined then.
 *   invalid_argument     more tokens than the watermark with these blocks; blocks or a layout that
 *                        do not fit; the stream
 *   failed_precondition  the stream is being captured; or the reader has finished
 *   resource_exhausted   no memory
 *   internal             some pieces were read, and a later one was refused
 *   any other            the device's
 * The first two have changed nothing. After the others what the blocks have is undefined, and
 * nothing of the sequence can be adopted until it is restored again. */
AQUA_CALL aqua_error* aqua_replica_reader_restore(aqua_replica_reader reader, aqua_layout layout,
                                                  const aqua_restore_options* options,
                                                  aqua_stream stream, aqua_ticket* ticket);
/* Drops all of the owner's packs of older terms of which this reader has restored nothing, those
 * too that were committed since it was opened, and lets go of the others once the work posted to
 * `stream` so far has ended. Packs of the reader's own term are the successor's, and stay. Nothing
 * is restored afterwards. Where it fails call it again: it goes on with what is left.
 *   invalid_argument     the stream is none; nothing has changed
 *   failed_precondition  the stream is being captured; nothing has changed
 *   unavailable          the keeper is away, or silent for longer than patience_ms
 *   aborted              the keeper has packs of a higher term of this life: this one is over, and
 *                        drops nothing any more
 *   any other            why a segment could not be opened that may be a pack of the owner's
 * In the last case all others are dropped. */
AQUA_CALL aqua_error* aqua_replica_reader_finish(aqua_replica_reader reader, aqua_stream stream);
/* Drops the packs that other lives of the group have left of the owner's place, as
 * aqua_replica_reader_open() and _finish() found them. Before: those lives are over. unavailable:
 * the keeper is away. */
AQUA_CALL aqua_error* aqua_replica_reader_drop_other_lives(aqua_replica_reader reader);

#ifdef __cplusplus
}
#endif

#endif
