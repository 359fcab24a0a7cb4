// SPDX-License-Identifier: Apache-2.0
#include "aqua/kv_stream/replica_reader.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "aqua/handoff/segments.hpp"
#include "aqua/stream_mark.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/kv_stream/decide/replica/catalogue.hpp"

namespace aqua::kv_stream {
namespace {

// Whether a pack of `found` is of the owner's place, in another life. An owner without a life tells
// no lives apart.
bool of_another_life(const ReplicaOwner& found, const ReplicaOwner& owner) {
  if (owner.life.empty()) return false;
  ReplicaOwner same = found;
  same.life = owner.life;
  return same == owner && found.life != owner.life;
}

// Why a piece was not read, and those after it. Codes that say that nothing has changed are only
// for the first one.
Error cut_short(Error why, bool first) {
  const bool unchanged =
      why.code == Code::invalid_argument || why.code == Code::failed_precondition;
  if (unchanged && !first) why.code = Code::internal;
  return why;
}

using SegmentKey = std::pair<std::uint64_t, std::uint64_t>;  // number and generation

SegmentKey key_of(const SegmentName& name) {
  return {name.number, name.generation};
}

}  // namespace

struct ReplicaReader::Parts {
  struct Opened {
    SegmentName name{};
    std::uint64_t capacity = 0;
    std::uint64_t term = 0;
  };

  Parts(StreamMark stream_mark, Segments keeper_segments, const ReplicaReaderOptions& opts)
      : mark(std::move(stream_mark)),
        segments(std::move(keeper_segments)),
        keeper(segments.status().keeper),
        options(opts) {}

  // Maps these segments and takes in what they are, with those of an earlier call that failed.
  // Segments of others are closed again. Where memory runs out, too, the next call goes on with
  // what is left.
  [[nodiscard]] Result<void> take_in(const std::vector<SegmentName>& names);
  // Asks for one of them; all of it, or nothing.
  [[nodiscard]] Result<void> ask(const SegmentName& name);
  [[nodiscard]] Result<void> take_in(const OpenedSegment& opened);
  // unavailable: the keeper is away.
  [[nodiscard]] Result<void> leave_out(const SegmentName& name, const Error& why);
  // What the keeper has committed by name, but for what was looked at before.
  [[nodiscard]] Result<std::vector<SegmentName>> list() const;
  void refuse(const Error& why) {
    ++status.refused;
    status.error = why.message;
  }

  StreamMark mark;  // for finish() to check its stream
  Segments segments;
  const std::uint64_t keeper;  // as SegmentsStatus::keeper
  const ReplicaReaderOptions options;
  ReplicaCatalogue catalogue{};
  std::map<std::uint64_t, Opened> packs{};  // of the owner, that are open here
  std::vector<SegmentName> other_lives{};   // of the owner's place, closed again
  std::set<SegmentKey> seen{};              // all that were asked for
  std::set<SegmentKey> awaited{};           // of these, whose outcomes are not taken in
  std::vector<OpenedSegment> outcomes{};    // of these, that have come, ...
  std::size_t taken_in = 0;                 // ... of which so many, the first ones, are taken in
  std::set<std::uint64_t> used{};           // packs
  std::optional<Error> unopened{};  // why the last segment that was left out could not be opened
  bool finishing = false;  // whatever is found now is dropped, and no part of the catalogue
  ReplicaReaderStatus status{};
};

Result<std::vector<SegmentName>> ReplicaReader::Parts::list() const {
  AQUA_ASSIGN(const auto kept, list_segments(options.keeper));
  std::vector<SegmentName> names;
  for (const SegmentStatus& each : kept) {
    const bool can_be = each.parcel == 0 && each.name.bytes > kPackHeadBytes;
    if (can_be && !seen.contains(key_of(each.name))) names.push_back(each.name);
  }
  return names;
}

Result<void> ReplicaReader::Parts::ask(const SegmentName& name) {
  // Moved below, which allocates nothing.
  std::set<SegmentKey> among_seen{key_of(name)}, among_awaited{key_of(name)};
  AQUA_TRY(segments.read(name));
  seen.merge(among_seen);
  awaited.merge(among_awaited);
  return {};
}

Result<void> ReplicaReader::Parts::take_in(const std::vector<SegmentName>& names) {
  const auto deadline = std::chrono::steady_clock::now() + options.patience;
  for (const SegmentName& name : names) AQUA_TRY(ask(name));
  for (;;) {
    // One that cannot be taken in stays, and the next call fails of it again.
    for (; taken_in < outcomes.size(); ++taken_in) {
      const OpenedSegment& each = outcomes[taken_in];
      AQUA_TRY(each.error ? leave_out(each.name, *each.error) : take_in(each));
      awaited.erase(key_of(each.name));
    }
    outcomes = segments.opened();
    taken_in = 0;
    if (!outcomes.empty()) continue;
    if (awaited.empty()) return {};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !segments.status().connected)
      return Error{Code::unavailable,
                   concat("replicas: the keeper has not opened ", awaited.size(), " segments")};
    (void)segments.wait(left);
  }
}

// A segment that was dropped meanwhile is no loss. Any other one may be a pack of the owner's: it
// is looked at again by the next list().
Result<void> ReplicaReader::Parts::leave_out(const SegmentName& name, const Error& why) {
  if (why.code == Code::unavailable) return why;
  if (why.code == Code::not_found || why.code == Code::aborted) return {};
  unopened = why;
  status.error = why.message;
  seen.erase(key_of(name));  // nothing fails from here on
  ++status.unopened;
  return {};
}

Result<void> ReplicaReader::Parts::take_in(const OpenedSegment& opened) {
  const std::uint64_t number = opened.name.number;
  auto pack = parse_pack({opened.segment.address, opened.name.bytes});
  const bool ours = pack.ok() && pack->owner == options.owner;
  if (!ours) {
    other_lives.reserve(other_lives.size() + 1);  // once it is closed nothing fails any more
    AQUA_TRY(segments.close(number, SegmentAfter::keep));
    if (!pack.ok() || !of_another_life(pack->owner, options.owner)) return {};
    other_lives.push_back(opened.name);
    ++status.other_lives;
    return {};
  }
  if (pack->term > options.term)
    return Error{Code::aborted, concat("replicas: term ", options.term,
                                       " is over: there is a pack ", "of term ", pack->term)};
  // A pack of this term was written by the owner that has taken the dead one's place.
  if (finishing && pack->term == options.term) return segments.close(number, SegmentAfter::keep);
  packs[number] = {opened.name, opened.segment.bytes, pack->term};
  if (finishing) return {};
  if (pack->shape != options.shape) {
    refuse({Code::invalid_argument, concat("replicas: segment ", number, " is of '", pack->shape,
                                           "', not of '", options.shape, "'")});
  } else if (opened.name.digest != SegmentDigest{} && !*segments.verify(number)) {
    refuse({Code::data_loss, concat("replicas: segment ", number, " is not what was committed")});
  } else {
    ++status.packs;
    catalogue.add(number, std::move(*pack));
  }
  return {};
}

Result<ReplicaReader> ReplicaReader::open(Runtime& runtime, const ReplicaReaderOptions& options) {
  AQUA_TRY(check_owner(options.owner));
  AQUA_ASSIGN(StreamMark mark, StreamMark::create(runtime));
  AQUA_ASSIGN(Segments segments, Segments::open(runtime, {.ready = 0, .keeper = options.keeper}));
  auto parts = std::make_unique<Parts>(std::move(mark), std::move(segments), options);
  AQUA_ASSIGN(const auto names, parts->list());
  AQUA_TRY(parts->take_in(names));
  return ReplicaReader(std::move(parts));
}

ReplicaReader::ReplicaReader(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
ReplicaReader::ReplicaReader(ReplicaReader&&) noexcept = default;
ReplicaReader& ReplicaReader::operator=(ReplicaReader&&) noexcept = default;
ReplicaReader::~ReplicaReader() = default;

std::vector<std::uint64_t> ReplicaReader::sequences() const {
  return parts_->catalogue.sequences();
}

std::uint32_t ReplicaReader::watermark(std::uint64_t sequence, std::span<const std::uint32_t> ids,
                                       std::uint32_t room) const {
  const auto pieces = parts_->catalogue.cover(sequence, TokenIds(ids), room);
  return pieces.empty() ? 0 : pieces.back().end;
}

std::optional<SamplerState> ReplicaReader::sampler(std::uint64_t sequence,
                                                   std::span<const std::uint32_t> ids) const {
  return parts_->catalogue.sampler(sequence, TokenIds(ids));
}

Result<RestoredReplica> ReplicaReader::restore(std::uint64_t sequence,
                                               std::span<const std::uint32_t> ids,
                                               std::uint32_t tokens, const Layout& layout,
                                               BlockList blocks, Stream stream) {
  if (parts_->finishing)
    return Error{Code::failed_precondition, "replicas: the reader has finished, and reads no more"};
  const auto room = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      blocks.size() * std::uint64_t{layout.spec().axes.tokens.count}, UINT32_MAX));
  const TokenIds known(ids);
  const auto pieces = parts_->catalogue.cover(sequence, known, room);
  const std::uint32_t mark = pieces.empty() ? 0 : pieces.back().end;
  if (tokens > mark)
    return Error{Code::invalid_argument, concat("replicas: ", tokens, " tokens of sequence ",
                                                sequence, ", of which there are ", mark)};
  AQUA_TRY(layout.check(blocks));
  const std::uint64_t token_bytes = layout.block_bytes() / layout.spec().axes.tokens.count;
  const auto other = std::ranges::find_if(
      pieces, [&](const CoverPiece& piece) { return piece.token_bytes != token_bytes; });
  if (other != pieces.end())
    return Error{Code::invalid_argument,
                 concat("replicas: tokens of ", token_bytes, " bytes, and segment ", other->pack,
                        " has some of ", other->token_bytes)};
  RestoredReplica restored{.tokens = tokens};
  std::vector<Ticket> copies;
  for (const CoverPiece& piece : pieces) {
    if (piece.first >= tokens) break;
    const PackEntry& entry = *piece.entry;
    const IndexRange range{entry.first, static_cast<std::uint32_t>(entry.ids.size())};
    auto copy = parts_->segments.scatter(piece.pack, entry.offset, layout, blocks,
                                         {.tokens = range}, stream);
    if (!copy.ok()) return cut_short(std::move(copy).error(), copies.empty());
    copies.push_back(std::move(copy).value());
    parts_->used.insert(piece.pack);
    const Parts::Opened& pack = parts_->packs.at(piece.pack);
    restored.pieces.push_back({.segment = pack.name,
                               .first = piece.first,
                               .end = std::min(piece.end, tokens),
                               .capacity = pack.capacity,
                               .keeper = parts_->keeper});
  }
  restored.ticket = Ticket::join(std::move(copies));
  return restored;
}

// Each step is done, or not, also where memory runs out: it is made to be called again.
Result<void> ReplicaReader::finish(Stream stream) {
  AQUA_TRY(parts_->mark.set(stream));
  parts_->finishing = true;
  parts_->unopened.reset();
  parts_->status.unopened = 0;
  AQUA_ASSIGN(const auto late, parts_->list());
  AQUA_TRY(parts_->take_in(late));
  for (auto& packs = parts_->packs; !packs.empty(); packs.erase(packs.begin())) {
    const auto& [number, pack] = *packs.begin();
    // Packs of this term are the successor's, which may still be writing some.
    // What a former owner on another server still drops does not take the successor's copy along.
    const bool needed = parts_->used.contains(number) || pack.term == parts_->options.term;
    AQUA_TRY(
        parts_->segments.close(number, stream, needed ? SegmentAfter::adopt : SegmentAfter::drop));
  }
  if (!parts_->unopened) return {};
  return Error{parts_->unopened->code,
               concat("replicas: ", parts_->status.unopened,
                      " segments could not be opened, and may be this owner's: ",
                      parts_->unopened->message)};
}

Result<void> ReplicaReader::drop_other_lives() {
  for (const SegmentName& name : parts_->other_lives) AQUA_TRY(parts_->segments.drop(name));
  parts_->other_lives.clear();
  parts_->status.other_lives = 0;
  return {};
}

ReplicaReaderStatus ReplicaReader::status() const {
  return parts_->status;
}

}  // namespace aqua::kv_stream
