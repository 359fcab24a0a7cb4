/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas: copies of a pipeline stage's KV with the keeper beside the next stage, which outlive
 * the stage (aqua/kv_stream/replicator.hpp). After each step of the engine a replicator copies the
 * KV of the tokens that the step has computed, behind its kernels, and commits it there every few
 * steps with the tokens' ids and the state of the sampler. Whoever takes a dead stage's place reads
 * it (aqua/c/replica_reader.h), and goes on from there.
 *
 * What the keeper has is the authority on how far a sequence is replicated: here it is known a
 * little later. A sequence of which more than lag_tokens are written and not held is not protected:
 * where the keeper is full, slow or away, or while a long prompt is copied. The engine goes on all
 * the same, and what is missing is copied as soon as it can be.
 *
 * Threads: every call may be made concurrently; those on one replicator come one after the other,
 *          but wait, which runs beside any other. None waits for a stream, a socket or another
 *          process, but create, reconnect, wait and free; and a step or flush that finds no memory
 *          waits for the copies that it had begun to post.
 * Memory:  create, reconnect, free and the replicator's own threads speak to the keeper, and end
 *          the process where that finds no memory for a few kilobytes. Another call that finds none
 *          (resource_exhausted) may have ended in its middle. Where it has, all further calls on
 *          that replicator say aborted, but those that free, wait or tell its status: free it,
 *          which waits for copies that read the blocks, and create another one, to which each
 *          sequence is given anew from its first token.
 * Units:   tokens; bytes where said. */
#ifndef AQUA_C_REPLICATOR_H
#define AQUA_C_REPLICATOR_H

#include "aqua/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whose KV it is: a rank of a stage of a pipeline. */
typedef struct aqua_replica_owner {
  size_t struct_size;
  const char* group; /* the pipeline: 1 to 64 letters, digits, '-' and '_' */
  const char* life;  /* which life of the group, of the same characters: terms of two lives are
                        not compared, and packs of another life are not read. Empty: lives are not
                        told apart (aqua/kv_stream/replica.hpp) */
  uint32_t stage;
  uint32_t rank;
} aqua_replica_owner;
#define AQUA_REPLICA_OWNER_INIT \
  { sizeof(aqua_replica_owner), NULL, NULL, 0, 0 }

/* All that is pointed to is copied. */
typedef struct aqua_replicator_options {
  size_t struct_size;
  const aqua_replica_owner* owner; /* this process's place */
  const char* shape;  /* model, dtype and the owner's part of the KV: at most 1,024 bytes, which
                         who reads it says, too */
  const char* keeper; /* the socket of the one beside the next stage; NULL: $AQUA_KEEPER, else
                         where aqua-keeper puts it */
  uint64_t term;      /* of the group, in which this process has its place: 1 at first. What is
                         committed in an older one a reader's finish takes for the dead owner's */
  size_t pack_bytes;  /* a pack is what is committed at once */
  size_t max_bytes;   /* of all packs, at the keeper */
  size_t background_bytes; /* what a step copies at most in addition to what it has computed */
  uint32_t lag_tokens;     /* beyond which a sequence is not protected */
  uint32_t pack_steps; /* a pack is committed once so many steps have gone into it, it is full, or
                          a prompt longer than lag_tokens has. At most lag_tokens */
  uint32_t digest;     /* not 0: a reader checks all bytes, which costs reading them once */
} aqua_replicator_options;
#define AQUA_REPLICATOR_OPTIONS_INIT                                                        \
  {                                                                                         \
    sizeof(aqua_replicator_options), NULL, NULL, NULL, 1, (size_t)8 << 20, (size_t)1 << 30, \
        (size_t)16 << 20, 64, 8, 0                                                          \
  }

typedef struct aqua_replicator_status {
  size_t struct_size;
  size_t sequences;         /* that are known: given, and not finished */
  size_t unprotected;       /* ... of which so many are not; aqua_replicator_unprotected() names
                               them */
  uint64_t copied_bytes;    /* of KV, since it was created, ... */
  uint64_t rewritten_bytes; /* ... of which so many had been copied before */
  uint64_t packs_committed;
  uint64_t packs_failed;
  uint64_t steps_unprotected; /* times that a step left a sequence unprotected */
  size_t packs_kept;          /* at the keeper now */
  size_t kept_bytes;
  char error[256];    /* why something is not protected, or was not once; cut off where it does not
                         fit. Empty: it all was */
  uint32_t most_lag;  /* tokens that are written and not held, of the sequence with the most */
  uint32_t connected; /* 1: to the keeper. Once 0 it stays so until
                          aqua_replicator_reconnect() */
} aqua_replicator_status;
#define AQUA_REPLICATOR_STATUS_INIT \
  { sizeof(aqua_replicator_status), 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, 0, 0 }

/* Blocks for the keeper. The layout is copied: its memory stays for as long as the replicator.
 *   invalid_argument    a name of other characters, or too long a shape; pack_bytes that do not
 *                       fit one token; max_bytes below four packs; pack_steps of 0, or more than
 *                       lag_tokens
 *   unavailable         no keeper listens, or it does not answer
 *   permission_denied   the keeper is another user's
 *   resource_exhausted  the keeper, or the server, has no room for the first packs */
AQUA_CALL aqua_error* aqua_replicator_create(aqua_runtime runtime, aqua_layout layout,
                                             const aqua_replicator_options* options,
                                             aqua_replicator* replicator);
/* Waits until what was posted so far has ended. What was committed stays with the keeper, for a
 * reader; what no commit has begun of is not replicated: aqua_replicator_flush() comes first where
 * it is to be. While another thread is in a call on it this returns at once: the last such call
 * waits and frees as it returns, and until then the blocks may be read. No kernel may be in such a
 * call: it would wait for itself, for ever.
 * failed_precondition: this is a callback or a kernel, which it might wait for. */
AQUA_CALL aqua_error* aqua_replicator_free(aqua_replicator replicator);
AQUA_CALL aqua_error* aqua_replicator_get_status(aqua_replicator replicator,
                                                 aqua_replicator_status* status);

/* What a step has computed of one sequence. */
typedef struct aqua_written_tokens {
  size_t struct_size;
  uint64_t sequence;      /* names one request for as long as the group lives */
  const uint32_t* blocks; /* of the sequence, in the order of its tokens. They are its own until
                             aqua_replicator_finish(), _without_blocks(), or the next step that
                             names others */
  size_t block_count;
  const uint32_t* ids; /* of the tokens; one or more */
  size_t id_count;
  const void* sampler; /* the state behind them; NULL: none */
  size_t sampler_bytes;
  uint32_t first; /* position of the first token */
} aqua_written_tokens;
#define AQUA_WRITTEN_TOKENS_INIT \
  { sizeof(aqua_written_tokens), 0, NULL, 0, NULL, 0, NULL, 0, 0 }
#define AQUA_MAX_SAMPLER_BYTES 4096

/* The work posted to `stream` so far has written KV of these tokens. Copies it behind that work:
 * in this call, or in a later _step() or _flush(), whose stream the caller has ordered behind it.
 * The ticket, which may be NULL where nobody will ask, is of the copies that this call has posted.
 * After _finish() or _without_blocks() none are posted any more: work behind those on their streams
 * may write the blocks at once. KV from `first` on that was there before is no more: positions are
 * computed again after a recovery. Where something cannot be copied this is no error: the status
 * tells.
 *   invalid_argument  no ids; tokens missing before `first`; blocks that have no room for all
 *                     tokens, or are none of the layout's; a sequence named twice; more sequences
 *                     than the layout has blocks; more than AQUA_MAX_SAMPLER_BYTES of state.
 *                     Nothing has changed */
AQUA_CALL aqua_error* aqua_replicator_step(aqua_replicator replicator,
                                           const aqua_written_tokens* const* written, size_t count,
                                           aqua_stream stream, aqua_ticket* ticket);
/* Commits what has been copied so far, however little it is: before the engine rests. Also copies
 * what is missing, up to background_bytes of it. */
AQUA_CALL aqua_error* aqua_replicator_flush(aqua_replicator replicator, aqua_stream stream);
/* The sequence has given its blocks away and may get others; its replica stays. One that is not
 * known: nothing. */
AQUA_CALL aqua_error* aqua_replicator_without_blocks(aqua_replicator replicator, uint64_t sequence);
/* Nobody needs the sequence any more: its replica goes. One that is not known: nothing. */
AQUA_CALL aqua_error* aqua_replicator_finish(aqua_replicator replicator, uint64_t sequence);

/* The group is in another term, and this process has not resumed in it: nothing is copied or
 * committed until it does. Terms are counted by whoever replaces the dead; a reader of a lower term
 * than a pack's is refused. */
AQUA_CALL aqua_error* aqua_replicator_seal(aqua_replicator replicator);
/* This process goes on in that term, and copies what is missing. */
AQUA_CALL aqua_error* aqua_replicator_resume(aqua_replicator replicator, uint64_t term);
/* The sequence goes on here as aqua_replica_reader_restore() has last restored it: its tokens are
 * known, in the blocks that were given there. The dead owner's packs are its replica from now on,
 * and nothing is copied again. Where the reader's owner, its shape or its keeper is not this
 * replicator's, everything is copied anew, background_bytes a step: a later recovery would not find
 * those packs. A keeper that died and was started again since is another one. `reader` may have
 * finished. Another reader that finishes drops those packs unless it has restored the sequence, too
 * (aqua/c/replica_reader.h).
 *   not_found            the reader has restored nothing of it, or a restore ended in its middle
 *   invalid_argument     it was restored into another cache: the layout is not this replicator's,
 *                        or another runtime's
 *   already_exists       the sequence is known here
 *   failed_precondition  the reader is of this replicator's owner, and of another term: its finish
 *                        takes what is committed in an older one for the dead owner's, and drops
 *                        it. Create the replicator in the reader's term
 *   aborted              memory ran out in the middle of a call on the replicator
 * Nothing has changed then. */
AQUA_CALL aqua_error* aqua_replicator_adopt(aqua_replicator replicator, aqua_replica_reader reader,
                                            uint64_t sequence);

/* Where the keeper has ended (connected is 0), connects to the one that listens now; else does
 * nothing. What of this replicator's packs that one has, as a keeper that had written them to its
 * disk, is the replica still, but for copies of another server's; all else that it has of this
 * replicator is dropped there. What is missing is copied again, background_bytes a step, out of the
 * blocks that sequences have then. It comes before a reader is opened at that keeper, so that what
 * is restored is adopted. Waits for the keeper and, as _free does, until what was posted so far has
 * ended: no kernel may be in a call on the replicator meanwhile. A _wait that is under way is not
 * told.
 *   unavailable           no keeper listens yet, or it does not answer
 *   permission_denied     the keeper is another user's
 *   resource_exhausted    it has no room for the first packs
 *   failed_precondition   this is a callback or a kernel
 * It may be called again then, and steps go on meanwhile. */
AQUA_CALL aqua_error* aqua_replicator_reconnect(aqua_replicator replicator);
/* Takes up what the keeper has committed since the last call. Never waits. A step does so, too. */
AQUA_CALL aqua_error* aqua_replicator_poll(aqua_replicator replicator);
/* Waits until there is something to take up. *news is 1 then, and 0 where nothing came within
 * patience_ms. A replicator that is freed meanwhile goes when this returns.
 * failed_precondition: this is a callback or a kernel. */
AQUA_CALL aqua_error* aqua_replicator_wait(aqua_replicator replicator, uint32_t patience_ms,
                                           int* news);
/* How many tokens are held, from the first on, as far as is known here; 0 of a sequence that is not
 * known. */
AQUA_CALL aqua_error* aqua_replicator_get_watermark(aqua_replicator replicator, uint64_t sequence,
                                                    uint32_t* tokens);
/* Sequences that are not protected. The list is the replicator's, and valid until the next such
 * call on it, or until it is freed. An empty one is no error. */
AQUA_CALL aqua_error* aqua_replicator_unprotected(aqua_replicator replicator,
                                                  const uint64_t** sequences, size_t* count);

#ifdef __cplusplus
}
#endif

#endif
