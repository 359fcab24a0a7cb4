// SPDX-License-Identifier: Apache-2.0
#include "aqua/kv_stream/replicator.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "systems/kv_stream/act/replicated.hpp"

namespace aqua::kv_stream {
namespace {

template <typename... What>
Error replicator_refusal(const What&... what) {
  return Error{Code::invalid_argument, concat("replicator: ", what...)};
}

constexpr std::size_t kLeastPacks = 4;  // one that is open, one to merge into, two to be merged

Result<Segments> open_segments(Runtime& runtime, const ReplicatorOptions& options) {
  return Segments::open(
      runtime,
      {.segment_bytes = options.pack_bytes, .digest = options.digest, .keeper = options.keeper});
}

}  // namespace

Result<Replicator> Replicator::create(Runtime& runtime, const Layout& layout,
                                      const ReplicatorOptions& options) {
  AQUA_TRY(check_owner(options.owner));
  if (options.shape.size() > kMostShapeBytes)
    return replicator_refusal("the shape has ", options.shape.size(), " bytes, at most ",
                              kMostShapeBytes);
  if (options.pack_steps == 0 || options.pack_steps > options.lag_tokens)
    return replicator_refusal("packs of ", options.pack_steps, " steps, where ", options.lag_tokens,
                              " tokens may be missing");
  Pack head{.owner = options.owner,
            .term = options.term,
            .shape = options.shape,
            .token_bytes = layout.block_bytes() / layout.spec().axes.tokens.count};
  if (options.max_bytes / kLeastPacks < options.pack_bytes ||
      tokens_of_pack(head, options.pack_bytes) == 0)
    return replicator_refusal("packs of ", options.pack_bytes, " bytes, of at most ",
                              options.max_bytes, ", for tokens of ", head.token_bytes);
  AQUA_ASSIGN(Segments segments, open_segments(runtime, options));
  return Replicator(std::make_unique<Parts>(detail::Internals::view(runtime), std::move(segments),
                                            layout, options, std::move(head)));
}

Replicator::Replicator(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
Replicator::Replicator(Replicator&&) noexcept = default;
Replicator& Replicator::operator=(Replicator&&) noexcept = default;
Replicator::~Replicator() = default;

Result<void> Replicator::Parts::check_blocks(BlockList blocks, std::uint64_t tokens) const {
  AQUA_TRY(layout.check(blocks));
  const std::uint64_t room = blocks.size() * std::uint64_t{layout.spec().axes.tokens.count};
  if (tokens <= room) return {};
  return replicator_refusal(tokens, " tokens in blocks for ", room);
}

Result<void> Replicator::Parts::check(const WrittenTokens& written) const {
  if (written.ids.empty())
    return replicator_refusal("sequence ", written.sequence, " was given without ids");
  const std::uint32_t known = book.tokens(written.sequence);
  if (written.first > known)
    return replicator_refusal("sequence ", written.sequence, " has tokens from ", written.first,
                              " on, ", known, " are known");
  if (written.sampler.size() > kMostSamplerBytes)
    return replicator_refusal("a sampler's state of ", written.sampler.size(), " bytes, at most ",
                              kMostSamplerBytes);
  return check_blocks(written.blocks, std::uint64_t{written.first} + written.ids.size());
}

void Replicator::Parts::note(const WrittenTokens& written) {
  Sequence& sequence = sequences[written.sequence];
  sequence.blocks.assign(written.blocks.begin(), written.blocks.end());
  book.cut(written.sequence, written.first);
  sequence.ids.cut(written.first);
  sequence.ids.append(written.ids);
  book.written(written.sequence, sequence.ids.size());
  sequence.sampler = {.tokens = written.sampler.empty() ? 0 : sequence.ids.size(),
                      .state = {written.sampler.begin(), written.sampler.end()}};
}

Result<Ticket> Replicator::step(std::span<const WrittenTokens> written, Stream stream) {
  std::set<std::uint64_t> named;
  for (const WrittenTokens& each : written) {
    if (!named.insert(each.sequence).second)
      return replicator_refusal("sequence ", each.sequence, " is named twice");
    AQUA_TRY(parts_->check(each));
  }
  parts_->poll();
  for (const WrittenTokens& each : written) parts_->note(each);
  parts_->drop_dead();
  if (parts_->works()) {
    bool due = ++parts_->steps >= parts_->options.pack_steps;
    for (const WrittenTokens& each : written) {
      due = due || each.ids.size() > parts_->options.lag_tokens;
      parts_->offer(each, stream);
    }
    due = due || parts_->waiting_tokens() >= parts_->pack_tokens;
    if (due) parts_->gather_waiting(stream);
    parts_->work_behind(stream, due);
    if (due) parts_->end_pack(stream);
  } else {
    parts_->waiting.clear();  // it is missing, whatever blocks it is in when that can be copied
  }
  for (const WrittenTokens& each : written)
    parts_->counted.steps_unprotected += is_protected(each.sequence) ? 0U : 1U;
  return Ticket::join(std::exchange(parts_->copies, {}));
}

Result<void> Replicator::flush(Stream stream) {
  poll();
  if (!parts_->works()) return {};
  parts_->gather_waiting(stream);
  parts_->work_behind(stream, true);
  parts_->end_pack(stream);
  parts_->copies.clear();
  return {};
}

void Replicator::without_blocks(std::uint64_t sequence) {
  const auto found = parts_->sequences.find(sequence);
  if (found != parts_->sequences.end()) found->second.blocks.clear();
  parts_->waiting.erase(sequence);
}

void Replicator::finish(std::uint64_t sequence) {
  parts_->sequences.erase(sequence);
  parts_->waiting.erase(sequence);
  parts_->book.finish(sequence);
  parts_->drop_dead();
}

void Replicator::seal() {
  parts_->sealed = true;
}

void Replicator::resume(std::uint64_t term) {
  parts_->head.term = term;
  parts_->sealed = false;
}

Result<void> Replicator::adopt(const AdoptedReplica& replica) {
  if (parts_->book.knows(replica.sequence))
    return Error{Code::already_exists,
                 concat("replicator: sequence ", replica.sequence, " is known")};
  const WrittenTokens written{
      .sequence = replica.sequence, .blocks = replica.blocks, .ids = replica.ids};
  AQUA_TRY(parts_->check(written));
  parts_->note(written);
  const std::uint64_t keeper = parts_->segments->status().keeper;
  for (const ReplicaPiece& piece : replica.pieces) {
    // This keeper has no such segment, or gives its number to another one.
    if (piece.keeper != keeper) continue;
    const TokenSpan span{piece.first, std::min(piece.end, parts_->book.tokens(replica.sequence))};
    if (span.empty()) continue;
    const PackId pack = piece.segment.number;
    const auto capacity = std::max(piece.capacity, piece.segment.bytes);
    parts_->kept.try_emplace(pack, Parts::Kept{.name = piece.segment, .capacity = capacity});
    parts_->remember(pack);
    parts_->book.put(replica.sequence, span, pack);
    parts_->book.held(pack);
  }
  parts_->merge_limit =
      std::max(parts_->merge_limit, parts_->kept_bytes() + parts_->options.pack_bytes);
  return {};
}

Result<void> Replicator::reconnect() {
  if (parts_->connected()) return {};
  AQUA_TRY(parts_->take_stock());  // first: what it drops makes room for what is opened
  AQUA_ASSIGN(Segments segments, open_segments(parts_->runtime, parts_->options));
  // Destroyed as this returns: nobody who has awaited_lock waits for its copies.
  const auto former = parts_->go_on(std::make_shared<Segments>(std::move(segments)));
  return {};
}

void Replicator::poll() {
  parts_->poll();
  parts_->drop_dead();
}

bool Replicator::wait(std::chrono::milliseconds patience) {
  const auto segments = [this] {
    const MutexLock lock(parts_->awaited_lock);
    return parts_->awaited;
  }();
  return segments->wait(patience);
}

std::uint32_t Replicator::watermark(std::uint64_t sequence) const {
  return parts_->connected() ? parts_->book.watermark(sequence) : 0;
}

bool Replicator::is_protected(std::uint64_t sequence) const {
  return parts_->connected() && parts_->book.is_protected(sequence);
}

ReplicatorStatus Replicator::status() const {
  ReplicatorStatus status = parts_->counted;
  const SegmentsStatus keeper = parts_->segments->status();
  status.connected = keeper.connected;
  if (status.error.empty() || !keeper.connected) status.error = keeper.error;
  status.sequences = parts_->sequences.size();
  for (const auto& [id, sequence] : parts_->sequences) {
    const std::uint32_t lag = parts_->book.tokens(id) - watermark(id);
    status.most_lag = std::max(status.most_lag, lag);
    if (!is_protected(id)) status.unprotected.push_back(id);
  }
  status.packs_kept = parts_->kept.size();
  status.kept_bytes = parts_->kept_bytes();
  return status;
}

}  // namespace aqua::kv_stream
