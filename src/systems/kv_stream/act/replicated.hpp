// SPDX-License-Identifier: Apache-2.0
// What a Replicator is made of: the book, which decides, the cache's blocks by sequence, and the
// packs that are open, being committed, and kept.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aqua/handoff/segments.hpp"
#include "aqua/kv_stream/replicator.hpp"
#include "aqua/runtime.hpp"
#include "base/mutex.hpp"
#include "systems/kv_stream/act/open_pack.hpp"
#include "systems/kv_stream/decide/replica/replica_book.hpp"
#include "systems/kv_stream/decide/replica/token_ids.hpp"

namespace aqua::kv_stream {

struct Replicator::Parts {
  struct Sequence {
    std::vector<std::uint32_t> blocks{};  // none: they were given away
    TokenIds ids{};
    SamplerState sampler{};
  };

  Parts(Runtime of_runtime, Segments of_keeper, const Layout& of, const ReplicatorOptions& opts,
        Pack pack_head)
      : runtime(std::move(of_runtime)),
        segments(std::make_shared<Segments>(std::move(of_keeper))),
        awaited(segments),
        layout(of),
        options(opts),
        head(std::move(pack_head)),
        pack_tokens(tokens_of_pack(head, opts.pack_bytes)),
        book(opts.lag_tokens),
        merge_limit(opts.max_bytes) {}
  ~Parts() { settle(); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  // Bad input: nothing has changed.
  [[nodiscard]] Result<void> check(const WrittenTokens& written) const;
  [[nodiscard]] Result<void> check_blocks(BlockList blocks, std::uint64_t tokens) const;
  // The step's tokens are in the cache.
  void note(const WrittenTokens& written);

  void poll();
  // Gives back the segments of packs that have failed. What is refused, as where the device has no
  // memory for an event, is tried again by the next poll().
  void release_failed();
  void drop_dead();
  // Waits until it has heard what has become of the packs that are being committed.
  void settle();
  // The keeper that listens now has begun anew, or is another one. Packs that are kept are so still
  // where it has them; whatever else it has of this replicator's is dropped. Blocks for the keeper.
  // unavailable: it is away; this may be called again.
  [[nodiscard]] Result<void> take_stock();
  [[nodiscard]] Result<void> drop_there(const SegmentName& name) const;
  // Goes on with these. Returns the former ones: once nobody else has them they are to be
  // destroyed, which waits for copies.
  [[nodiscard]] std::shared_ptr<Segments> go_on(std::shared_ptr<Segments> with);
  void remember(PackId pack);

  // Gathers as much of the span as the keeper and `budget` (bytes) have room for, and takes it off
  // the budget. Returns the tokens.
  std::uint32_t send(SequenceId sequence, TokenSpan span, Stream stream, std::size_t& budget,
                     bool merges = false);
  // What a step has written waits in the cache, unless it is worth a copy of its own.
  void offer(const WrittenTokens& written, Stream stream);
  // Gathers what waits. Whatever there is no room for is missing from then on.
  void gather_waiting(SequenceId sequence, Stream stream);
  void gather_waiting(Stream stream);
  [[nodiscard]] std::uint64_t waiting_tokens() const;
  // The first tokens that nobody has and that wait for no pack. Empty: there are none.
  [[nodiscard]] TokenSpan missing(SequenceId sequence) const;
  // What is missing, then packs that are to be merged: those are looked for once a pack, as there
  // are no others before.
  void work_behind(Stream stream, bool pack_is_due);
  bool merge(Stream stream, std::size_t& budget);
  // As the book's, but for packs that a sequence without blocks needs: nothing of those is moved,
  // since they could not be given back.
  [[nodiscard]] std::vector<PackLoad> movable_loads() const;
  [[nodiscard]] bool open_pack(bool merges);
  void commit(Stream stream);
  // The pack that is due, if there is any; the next one gets as many steps again.
  void end_pack(Stream stream);
  [[nodiscard]] std::size_t kept_bytes() const;
  [[nodiscard]] bool connected() const { return segments->status().connected; }
  [[nodiscard]] bool works() const { return !sealed && connected(); }

  Runtime runtime;  // a view, which stays good when the runtime is moved
  std::shared_ptr<Segments> segments;
  // The same ones, for wait(), which may run beside a call that replaces them.
  Mutex awaited_lock{};
  std::shared_ptr<Segments> awaited AQUA_GUARDED_BY(awaited_lock);
  const Layout& layout;
  const ReplicatorOptions options;
  Pack head;
  const std::uint64_t pack_tokens;
  ReplicaBook book;
  std::map<SequenceId, Sequence> sequences{};
  std::optional<OpenPack> open{};
  std::uint32_t steps = 0;  // since the last pack was due
  // Tokens of steps with few of a sequence, from these positions on: they are gathered together,
  // with one copy a sequence, when their pack is due. Until then they would be lost with the
  // process in a pack, too.
  std::map<SequenceId, std::uint32_t> waiting{};
  std::map<PackId, std::size_t> committing{};  // their capacity
  std::vector<PackId> failed{};                // whose segments are to be released
  struct Kept {
    SegmentName name{};
    std::size_t capacity = 0;
  };
  std::map<PackId, Kept> kept{};
  // Those that were packs here last. No keeper that is started after another gives one of its
  // numbers, so that whatever it has under one of these is this replicator's.
  std::set<PackId> mine{};
  // What kept_bytes() may come to by merging: max_bytes, or where more than that was adopted, a
  // pack more than is kept. Otherwise nothing of what was adopted could ever be merged.
  std::size_t merge_limit;
  std::vector<PackId> merging{};
  std::vector<Ticket> copies{};  // of the step that is going on
  bool sealed = false;
  ReplicatorStatus counted{};  // what is counted, and the last error
};

}  // namespace aqua::kv_stream
