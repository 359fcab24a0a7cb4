// SPDX-License-Identifier: Apache-2.0
// ReplicaReader is for the process that takes a dead stage's place: it finds what the keeper beside
// the next stage has of that stage's KV, says how far each sequence is replicated, and reads it
// into the new stage's cache (DéjàVu, 4.2.3). In order:
//
// 1. The group's term is raised, and all members have sealed (aqua/groups.hpp; Replicator::seal()).
// 2. open() lists what the keeper has committed. Only that is ever read here: what a process of an
//    older term may still commit afterwards counts for nothing, and finish() drops it.
// 3. watermark() of each sequence goes, as Replica::tokens, into plan_recovery()
//    (aqua/kv_stream/recovery.hpp), which says from where each goes on and what is read.
// 4. restore() reads, Replicator::adopt() goes on from there, and finish() drops the rest.
//
//   auto reader = kv_stream::ReplicaReader::open(
//       *rt, {.owner = {.group = "decode", .stage = 1}, .shape = "llama-3-8b, bf16", .term = 2});
//   const std::uint32_t mark = reader->watermark(7, known_ids, room);
//   auto restored = reader->restore(7, known_ids, mark, layout, blocks, stream);
//   auto done = reader->finish(stream);
//
// KV is a function of the ids of the tokens. A replica says the ids that it was computed from, and
// counts as far as they are those that are known now: prompt, then tokens that the client has.
//
// Threads: one at a time. Calls may block for the keeper; no engine runs meanwhile.
// Owns:    mappings of segments. The runtime outlives it.
// Units:   tokens.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

struct ReplicaReaderOptions {
  ReplicaOwner owner{};    // the dead one, whose place this process has
  std::string shape{};     // as its ReplicatorOptions::shape
  std::uint64_t term = 1;  // the one that was raised
  std::string keeper{};    // as SegmentsOptions::keeper
  // How long the keeper may take to open what it has.
  std::chrono::milliseconds patience{10'000};
};

struct RestoredReplica {
  Ticket ticket{};
  std::uint32_t tokens = 0;            // that the cache has, once the ticket is done
  std::vector<ReplicaPiece> pieces{};  // for Replicator::adopt()
};

struct ReplicaReaderStatus {
  std::size_t packs = 0;    // of the owner, that are read
  std::size_t refused = 0;  // of the owner, of another shape, or whose digest is wrong
  // Segments that could not be opened, as where there is no memory to map them. They may be packs
  // of the owner's, so that watermarks may be lower than they need be. finish() tries again.
  std::size_t unopened = 0;
  std::string error{};          // why the last of those refused or unopened was
  std::size_t other_lives = 0;  // packs of the owner's place in other lives of its group: not read
};

class AQUA_API ReplicaReader {
 public:
  //   invalid_argument  a name of other characters than a Replicator's
  //   aborted           the keeper has packs of a higher term of this life: this one is over
  //   unavailable       the keeper is away, or silent for longer than `patience`
  //   as Segments::open()
  [[nodiscard]] static Result<ReplicaReader> open(Runtime& runtime,
                                                  const ReplicaReaderOptions& options);
  // One that was moved from may only be assigned to or destroyed.
  ReplicaReader(ReplicaReader&&) noexcept;
  ReplicaReader& operator=(ReplicaReader&&) noexcept;
  // Blocks until what was posted so far has ended. What was not dropped stays with the keeper.
  ~ReplicaReader();

  // Sequences of which the owner's packs have anything, in ascending order. Nobody has compared ids
  // yet, and some of them may have ended elsewhere in the pipeline.
  [[nodiscard]] std::vector<std::uint64_t> sequences() const;
  // How many tokens can be restored, from the first on, into blocks that have room for `room`
  // tokens: at most as many as there are ids. Copies take pieces as they were written, which may
  // reach behind the last token that counts; a few tokens' room more than ids is well spent.
  [[nodiscard]] std::uint32_t watermark(std::uint64_t sequence, std::span<const std::uint32_t> ids,
                                        std::uint32_t room) const;
  // The latest state of the sampler that was replicated behind ids that are known. Once packs are
  // merged, states between are gone: it may be some tokens back, and is none where no state is left
  // that is not behind others.
  [[nodiscard]] std::optional<SamplerState> sampler(std::uint64_t sequence,
                                                    std::span<const std::uint32_t> ids) const;
  // Reads KV of the first `tokens` into these blocks, behind the work posted to `stream` so far.
  // What the blocks have behind them is undefined then.
  //   invalid_argument     more tokens than watermark() for these blocks; blocks or a layout that
  //                        do not fit; the stream
  //   failed_precondition  the stream is being captured; or finish() was called
  // Nothing has changed then. After any other error what the blocks have is undefined: internal
  // where the first pieces were read and a later one was refused, else the device's.
  [[nodiscard]] Result<RestoredReplica> restore(std::uint64_t sequence,
                                                std::span<const std::uint32_t> ids,
                                                std::uint32_t tokens, const Layout& layout,
                                                BlockList blocks, Stream stream);
  // Drops all of the owner's packs of older terms of which restore() has used nothing, those too
  // that were committed since open(), and lets go of the others once the work posted to `stream` so
  // far has ended. Packs of this reader's term are the successor's, and stay. It is the last call;
  // where it fails, or finds no memory, it may be called again, and goes on with what is left.
  //
  // A second reader of the same term, for where the first could not finish, restores each sequence
  // again that a Replicator has adopted, with the same ids, before this. Otherwise it drops the
  // packs that are their replica. Where it cannot, recovery begins anew, with a higher term and a
  // new Replicator.
  //   unavailable  the keeper is away, or silent for longer than `patience`
  //   aborted      the keeper has packs of a higher term of this life: this one is over, and drops
  //                nothing any more
  //   invalid_argument, failed_precondition  the stream, as StreamMark::set(): nothing has changed
  //   any other    why a segment could not be opened that may be a pack of the owner's. All others
  //                are dropped
  [[nodiscard]] Result<void> finish(Stream stream);
  // Drops the packs that other lives of the group have left of the owner's place, as open() and
  // finish() found them. Before: those lives are over. One coordinator, or several that share their
  // groups, have one life of a group at a time.
  //   unavailable  the keeper is away
  [[nodiscard]] Result<void> drop_other_lives();
  [[nodiscard]] ReplicaReaderStatus status() const;

 private:
  struct AQUA_LOCAL Parts;
  explicit ReplicaReader(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

}  // namespace aqua::kv_stream
