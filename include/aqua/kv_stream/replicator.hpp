// SPDX-License-Identifier: Apache-2.0
// Replicator keeps copies of a stage's KV with the keeper beside the next stage, so that they
// outlive the stage (DéjàVu, 4.2.3). Behind the kernels it gathers the KV of the tokens that the
// engine's steps have computed into host memory of that keeper's, and commits it there every few
// steps, together with the tokens' ids and the state of the sampler:
//
//   auto replicator = kv_stream::Replicator::create(*rt, layout,
//                                                   {.owner = {.group = "decode", .stage = 1},
//                                                    .shape = "llama-3-8b, bf16"});
//   const std::vector<kv_stream::WrittenTokens> written{
//       {.sequence = 7, .blocks = blocks, .first = 0, .ids = prompt}};  // later a token a step
//   auto copied = replicator->step(written, stream);                    // behind its kernels
//   while (!replicator->is_protected(7) && replicator->wait(std::chrono::seconds(1)))
//     replicator->poll();
//   replicator->finish(7);  // its answer is complete
//
// What is committed is the authority on how far a sequence is replicated: its watermark is what a
// ReplicaReader makes of it, and nobody is told of single tokens. Here it is known a little later.
//
// A sequence of which more than `lag_tokens` are written and not held is not protected: where the
// keeper is full, slow or away, or while a long prompt is copied. status() names it, and why. The
// engine goes on all the same, and what is missing is copied as soon as it can be.
//
// Packs, which are the keeper's segments, take up what several sequences computed in some steps.
// Small ones, and those of which most has ended, are written anew into larger ones in the
// background, out of the cache. So the keeper has little more than the KV of the sequences that
// run.
//
// Threads: one at a time, but wait(), which may be called beside any other. No call but create(),
//          reconnect(), wait() and the destructor waits for a stream, a socket or another process;
//          threads of the library's own do.
// Owns:    segments, and addresses in them. Layout and runtime outlive it. What was committed stays
//          with the keeper after it: a ReplicaReader drops it.
// Units:   tokens; bytes where said.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "aqua/export.h"
#include "aqua/kv_stream/replica.hpp"
#include "aqua/layout.hpp"
#include "aqua/result.hpp"
#include "aqua/ticket.hpp"
#include "aqua/types.hpp"

namespace aqua {

class Runtime;

}  // namespace aqua

namespace aqua::kv_stream {

struct ReplicatorOptions {
  ReplicaOwner owner{};
  // Names model, dtype and the owner's part of the KV, in at most 1,024 bytes. Who reads says the
  // same.
  std::string shape{};
  // The term of the group in which this process has its place. What is committed in an older one a
  // reader's finish() takes for the dead owner's.
  std::uint64_t term = 1;
  std::uint32_t lag_tokens = 64;  // beyond which a sequence is not protected
  // A pack is committed once so many steps have gone into it, it is full, or a prompt has that is
  // longer than lag_tokens. Tokens of fewer steps are lost with the process, and computed again.
  // Where a step has fewer tokens of a sequence than this, and no state of its sampler, they stay
  // in the cache until then, and are gathered together.
  std::uint32_t pack_steps = 8;
  std::size_t pack_bytes = std::size_t{8} << 20;
  std::size_t max_bytes = std::size_t{1} << 30;  // of all packs, at the keeper
  // What a step copies at most in addition to what it has computed: what is missing, and packs that
  // are written anew.
  std::size_t background_bytes = std::size_t{16} << 20;
  bool digest = false;   // as SegmentsOptions::digest: a reader checks all bytes
  std::string keeper{};  // the one beside the next stage, as SegmentsOptions::keeper
};

// What a step has computed of one sequence.
struct WrittenTokens {
  std::uint64_t sequence = 0;  // names one request for as long as the group lives
  // Blocks of the sequence, in the order of its tokens. They are its own until finish(),
  // without_blocks() or the next step() that names others.
  BlockList blocks{};
  std::uint32_t first = 0;               // position of the first token
  std::span<const std::uint32_t> ids{};  // of the tokens; one or more
  std::span<const std::byte> sampler{};  // its state behind them, at most 4,096 bytes
};

// What a ReplicaReader has found of a sequence, and restored.
struct AdoptedReplica {
  std::uint64_t sequence = 0;
  BlockList blocks{};
  std::span<const std::uint32_t> ids{};  // of the tokens that were restored, from the first on
  std::vector<ReplicaPiece> pieces{};
};

struct ReplicatorStatus {
  bool connected = true;  // to the keeper. Once false it stays so until reconnect()
  std::string error{};    // why something is not protected, or was not once; empty: it all was
  std::size_t sequences = 0;
  std::vector<std::uint64_t> unprotected{};  // sequences
  std::uint32_t most_lag = 0;                // tokens, of all sequences
  // Since create():
  std::uint64_t copied_bytes = 0;     // of KV, ...
  std::uint64_t rewritten_bytes = 0;  // ... of which so many had been copied before
  std::uint64_t packs_committed = 0;
  std::uint64_t packs_failed = 0;
  std::uint64_t steps_unprotected = 0;  // times that a step left a sequence unprotected
  std::size_t packs_kept = 0;           // at the keeper now
  std::size_t kept_bytes = 0;
};

class AQUA_API Replicator {
 public:
  // Blocks for the keeper.
  //   invalid_argument  a name or a shape that is none; pack_bytes that do not fit one token;
  //                     max_bytes below four packs; pack_steps of 0, or more than lag_tokens
  //   as Segments::open()
  [[nodiscard]] static Result<Replicator> create(Runtime& runtime, const Layout& layout,
                                                 const ReplicatorOptions& options);
  // One that was moved from may only be assigned to or destroyed.
  Replicator(Replicator&&) noexcept;
  Replicator& operator=(Replicator&&) noexcept;
  // Waits for what was posted; what no commit has begun of is not replicated.
  ~Replicator();

  // The work posted to `stream` so far has written KV of these tokens. Copies it behind that work:
  // in this call, or in a later step() or flush(), whose stream the caller has ordered behind it
  // (pack_steps). The ticket is of the copies that this call has posted. After finish() or
  // without_blocks() none are posted any more: work behind those on their streams may write the
  // blocks at once. KV from `first` on that was there before is no more: positions are computed
  // again after a recovery. Where something cannot be copied this is no error: status() tells.
  //   invalid_argument  no ids; tokens missing before `first`; blocks that have no room for all
  //                     tokens, or are none of the layout's; a sequence named twice; a state too
  //                     long. Nothing has changed.
  [[nodiscard]] Result<Ticket> step(std::span<const WrittenTokens> written, Stream stream);
  // Copies and commits what there is so far, however little it is: before the engine rests, or
  // blocks are given away.
  [[nodiscard]] Result<void> flush(Stream stream);
  // The sequence has given its blocks away and may get others; its replica stays. What had not been
  // copied is missing until it has blocks again.
  void without_blocks(std::uint64_t sequence);
  // Nobody needs the sequence any more. One that is not known: nothing.
  void finish(std::uint64_t sequence);

  // The group is in another term, and this process has not resumed in it: nothing is copied or
  // committed until resume(). (GroupNews::acknowledge, aqua/groups.hpp.)
  void seal();
  void resume(std::uint64_t term);
  // A sequence that was restored here is replicated by what its dead owner has left: nothing is
  // copied again. What of it the pieces do not have is, and so are pieces that another keeper had,
  // as one that died since and was started again. Whole segments count into max_bytes; where they
  // are more than that, nothing is copied until they have been merged, or sequences have ended.
  // The reader's term is this replicator's: what is committed in an older one its finish() takes
  // for late packs of the dead owner's, and drops.
  //   invalid_argument  as step(); already_exists: the sequence is known here
  [[nodiscard]] Result<void> adopt(const AdoptedReplica& replica);

  // Where the keeper has ended (status().connected), connects to the one that listens now; else
  // does nothing. What of this replicator's packs that one has, as a keeper that had written them
  // to its disk, is the replica still, but for copies of another server's; all else that it has of
  // this replicator is dropped there. What is missing is copied again, background_bytes a step, out
  // of the blocks that sequences have then. It comes before a ReplicaReader is opened at that
  // keeper, so that what is restored is adopted. Blocks for the keeper, and until what was posted
  // to the former one has ended; or a wait() that is under way does the latter, which is not told.
  //   unavailable         no keeper listens yet, or it does not answer
  //   permission_denied, resource_exhausted  as Segments::open()
  // It may be called again then, and steps go on meanwhile. Where the keeper has no room a call
  // takes up to five seconds, so an engine does not call it before every step.
  [[nodiscard]] Result<void> reconnect();
  // Takes up what the keeper has committed since the last call. Never waits. step() does so, too.
  void poll();
  // Blocks until there is something for poll() to take up. False: nothing came within `patience`.
  [[nodiscard]] bool wait(std::chrono::milliseconds patience);
  [[nodiscard]] ReplicatorStatus status() const;
  // Tokens that are held, from the first on, as far as is known here.
  [[nodiscard]] std::uint32_t watermark(std::uint64_t sequence) const;
  [[nodiscard]] bool is_protected(std::uint64_t sequence) const;

 private:
  struct AQUA_LOCAL Parts;
  explicit Replicator(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

}  // namespace aqua::kv_stream
