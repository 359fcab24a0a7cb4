// SPDX-License-Identifier: Apache-2.0
#include "systems/prefix/act/kept_prefixes.hpp"

#include <algorithm>
#include <cctype>

#include "aqua/layout.hpp"
#include "base/concat.hpp"
#include "base/deadline.hpp"
#include "base/try.hpp"

namespace aqua {
namespace {

using prefix::BlockHash;
using prefix::PrefixPack;

constexpr std::size_t kMostShapeBytes = 1024;
// Prompts that wait; of more the oldest are given up. Few: where the keeper is slower than prompts
// come, what is written then is what was stored lately, and not what is evicted next.
constexpr std::size_t kMostOffers = 64;
constexpr std::size_t kHeadRoom = std::size_t{64} << 10;     // for chains of four thousand blocks
constexpr std::size_t kHistoryBytes = std::size_t{4} << 20;  // some ten thousand prompts
constexpr std::uint32_t kOnly[] = {0};

bool in_names(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

// A block's bytes in a tensor, as a cache of one block.
Result<Layout> flat(std::byte* at, std::size_t bytes) {
  return Layout::make({.layers = 1,
                       .planes_per_layer = 1,
                       .planes = {at},
                       .block_count = 1,
                       .block_stride = bytes,
                       .axes = BlockAxes::whole(bytes)});
}

}  // namespace

KeptPrefixes::KeptPrefixes(const PrefixKeeping& options, const Shape& shape)
    : options_(options),
      shape_(shape),
      owner_hash_(prefix::chain_root(options.name)),
      shape_hash_(prefix::chain_root(
          concat(options.shape, shape.layout, "; blocks of ", shape.block_tokens, " tokens, ",
                 shape.engine_block_tokens, " of them in ", shape.engine_block_bytes, " bytes"))),
      segment_bytes_(
          std::max(options.segment_bytes, block_bytes(0, shape.block_tokens) + kHeadRoom)),
      history_(std::min(options.segment_bytes, kHistoryBytes)) {}

Result<std::unique_ptr<KeptPrefixes>> KeptPrefixes::open(Runtime& runtime,
                                                         const PrefixKeeping& options,
                                                         const Shape& shape) {
  const std::string& name = options.name;
  if (name.empty() || name.size() > 64 || !std::ranges::all_of(name, in_names)) {
    return Error{Code::invalid_argument,
                 concat("prefix cache: keep: the name '", name,
                        "' is not of 1 to 64 letters, digits, '-' and '_'")};
  }
  if (options.shape.empty() || options.shape.size() > kMostShapeBytes) {
    return Error{Code::invalid_argument,
                 concat("prefix cache: keep: a shape of ", options.shape.size(),
                        " bytes, not of 1 to ", kMostShapeBytes)};
  }
  std::unique_ptr<KeptPrefixes> kept(new KeptPrefixes(options, shape));
  SegmentsOptions wanted{.segment_bytes = kept->segment_bytes_, .keeper = options.keeper};
  auto segments = Segments::open(runtime, wanted);
  // A keeper that is full can be read all the same, and has room again as blocks are evicted.
  if (!segments.ok() && segments.error().code == Code::resource_exhausted) {
    wanted.ready = 0;
    segments = Segments::open(runtime, wanted);
  }
  auto side = SideStream::create(runtime);
  if (!segments.ok() || !side.ok()) {
    kept->failed(segments.ok() ? side.error() : segments.error());
    return kept;
  }
  kept->segments_.emplace(*std::move(segments));
  kept->side_.emplace(*std::move(side));
  if (auto found = kept->find(); !found.ok()) kept->failed(found.error());
  return kept;
}

std::size_t KeptPrefixes::block_bytes(std::size_t index, std::size_t tokens) const {
  const std::size_t its =
      std::min<std::size_t>(tokens - index * shape_.block_tokens, shape_.block_tokens);
  const std::size_t blocks = (its + shape_.engine_block_tokens - 1) / shape_.engine_block_tokens;
  return blocks * shape_.engine_block_bytes;
}

std::size_t KeptPrefixes::blocks_bytes(std::size_t first, std::size_t end,
                                       std::size_t tokens) const {
  return (end - 1 - first) * block_bytes(0, shape_.block_tokens) + block_bytes(end - 1, tokens);
}

bool KeptPrefixes::has(const BlockHash& block) const {
  const auto place = places_.find(block);
  if (place == places_.end()) return false;
  const State state = packs_.at(place->second.segment).state;
  return state == State::opened || (state != State::writing && segments_->status().connected);
}

Result<std::size_t> KeptPrefixes::ready(const BlockHash& block) {
  if (!has(block)) return Error{Code::not_found, "prefix cache: the block is not kept"};
  const Place& place = places_.at(block);
  Pack& pack = packs_.at(place.segment);
  if (pack.state == State::opened) return place.bytes;
  if (pack.state == State::kept && segments_->read(pack.name).ok()) pack.state = State::opening;
  return Error{Code::unavailable, "prefix cache: the block is being opened"};
}

Result<Ticket> KeptPrefixes::read(const BlockHash& block, AquaTensor& to, Stream stream) {
  const Place& place = places_.at(block);
  AQUA_ASSIGN(const Pin pin, to.pin(Access::write, stream));
  AQUA_ASSIGN(const Layout layout, flat(pin.data(), place.bytes));
  return segments_->scatter(place.segment, place.offset, layout, kOnly, stream);
}

void KeptPrefixes::enter(std::uint64_t number, Pack pack, std::size_t first, std::size_t tokens,
                         std::size_t offset) {
  for (std::size_t i = 0; i < pack.blocks.size(); ++i) {
    const std::size_t bytes = block_bytes(first + i, tokens);
    pack.live += places_.try_emplace(pack.blocks[i], Place{number, offset, bytes}).second ? 1U : 0U;
    offset += bytes;
  }
  bytes_ += pack.capacity;
  writing_ += pack.state == State::writing ? 1U : 0U;
  packs_.insert_or_assign(number, std::move(pack));
}

void KeptPrefixes::drop(const BlockHash& block) {
  const auto place = places_.find(block);
  if (place == places_.end()) return;
  const auto at = packs_.find(place->second.segment);
  places_.erase(place);
  if (--at->second.live == 0) end(at);
}

void KeptPrefixes::end(Packs::iterator at) {
  const auto& [number, pack] = *at;
  if (pack.state == State::writing || pack.state == State::opening) return;  // its outcome comes
  if (pack.state == State::opened) {
    (void)segments_->close(number, SegmentAfter::drop);
  } else {
    (void)segments_->drop(pack.name);
  }
  forget(at);
}

void KeptPrefixes::forget(Packs::iterator at) {
  for (const BlockHash& block : at->second.blocks) {
    const auto place = places_.find(block);
    if (place != places_.end() && place->second.segment == at->first) places_.erase(place);
  }
  bytes_ -= at->second.capacity;
  writing_ -= at->second.state == State::writing ? 1U : 0U;
  packs_.erase(at);
}

void KeptPrefixes::hear() {
  for (const CommittedSegment& each : segments_->committed()) committed(each);
  for (const OpenedSegment& each : segments_->opened()) opened(each);
}

void KeptPrefixes::committed(const CommittedSegment& outcome) {
  const auto at = packs_.find(outcome.name.number);
  if (history_committed(outcome) || at == packs_.end()) return;
  if (outcome.error) {
    failed(*outcome.error);
    ++given_up_;
    (void)segments_->release(at->first);  // not_found: the keeper has refused it, and it is gone
    return forget(at);
  }
  --writing_;
  at->second.state = State::kept;
  at->second.name = outcome.name;
  if (at->second.live == 0) end(at);
}

void KeptPrefixes::opened(const OpenedSegment& outcome) {
  const auto at = packs_.find(outcome.name.number);
  if (at == packs_.end()) {  // find() has not waited for it
    if (!outcome.error) (void)segments_->close(outcome.name.number, SegmentAfter::keep);
    return;
  }
  if (outcome.error) {
    failed(*outcome.error);
    (void)segments_->drop(at->second.name);  // the keeper still has what was not mapped
    return forget(at);
  }
  at->second.state = State::opened;
  if (at->second.live == 0) end(at);
}

void KeptPrefixes::asked(const prefix::Prefix& prefix) {
  history_.asked(prefix);
  ++unwritten_;
}

void KeptPrefixes::stored(const prefix::Prefix& prefix) {
  history_.stored(prefix);
  ++unwritten_;
  if (!segments_ || !segments_->status().connected) return;
  const bool all = std::ranges::all_of(
      prefix.chain, [this](const BlockHash& block) { return places_.contains(block); });
  if (all) return;
  if (offers_.size() == kMostOffers) {
    offers_.pop_front();
    ++given_up_;
    failed({Code::resource_exhausted, "prefix cache: the keeper is slower than prompts come"});
  }
  offers_.push_back({{prefix.chain.begin(), prefix.chain.end()}, prefix.tokens});
}

bool KeptPrefixes::write_next(Offer& offer, const TensorOf& tensor_of) {
  const auto give_up = [&](const Error& why) {
    failed(why);
    ++given_up_;
    offer.chain.clear();
    return true;
  };
  const std::size_t size = offer.chain.size();
  std::size_t first = 0;
  while (first < size && places_.contains(offer.chain[first])) ++first;
  const std::size_t room = std::max(options_.segment_bytes, prefix::pack_head_bytes(size)) -
                           prefix::pack_head_bytes(size);
  const std::size_t most = std::max<std::size_t>(1, room / block_bytes(0, shape_.block_tokens));
  std::size_t end = first;
  while (end < size && end - first < most && !places_.contains(offer.chain[end]) &&
         tensor_of(offer.chain[end]) != nullptr) {
    ++end;
  }
  if (end == first) {  // what it has no tensor for was evicted, and what continues it, too
    offer.chain.clear();
    return true;
  }
  const std::size_t tokens = std::min(offer.tokens, end * shape_.block_tokens);
  const std::size_t bytes = prefix::pack_head_bytes(end) + blocks_bytes(first, end, tokens);
  const std::size_t whole = std::max(bytes, segment_bytes_);  // that the segment has at least
  if (bytes_ + whole > options_.max_bytes) {
    return give_up(
        {Code::resource_exhausted, concat("prefix cache: ", whole, " bytes more than the ", bytes_,
                                          " that are kept, of at most ", options_.max_bytes)});
  }
  const auto segment = segments_->take(bytes);
  if (!segment.ok() && segment.error().code == Code::resource_exhausted) return false;
  if (!segment.ok()) return give_up(segment.error());
  auto written = write(offer, first, end, *segment, tensor_of);
  if (written.ok()) return true;
  (void)segments_->release(segment->number);
  return give_up(written.error());
}

Result<void> KeptPrefixes::write(const Offer& offer, std::size_t first, std::size_t end,
                                 const Segment& segment, const TensorOf& tensor_of) {
  const std::span<const BlockHash> chain = std::span(offer.chain).first(end);
  const std::size_t tokens = std::min(offer.tokens, end * shape_.block_tokens);
  const std::size_t begin = prefix::pack_head_bytes(end);
  std::size_t offset = begin;
  for (std::size_t i = first; i < end; ++i) {
    const std::size_t bytes = block_bytes(i, tokens);
    AQUA_ASSIGN(const Pin pin, tensor_of(chain[i])->pin(Access::read, side_->stream()));
    AQUA_ASSIGN(const Layout layout, flat(pin.data(), bytes));
    AQUA_TRY(segments_->gather(segment.number, offset, layout, kOnly, side_->stream()));
    offset += bytes;
  }
  prefix::write_pack_head({.head = {owner_hash_, shape_hash_, ++order_},
                           .tokens = tokens,
                           .first = static_cast<std::uint32_t>(first),
                           .chain = {chain.begin(), chain.end()}},
                          {segment.address, segment.bytes});
  AQUA_TRY(segments_->commit(segment.number, offset, side_->stream()));
  enter(segment.number,
        {.capacity = segment.bytes,
         .blocks = {offer.chain.begin() + static_cast<std::ptrdiff_t>(first),
                    offer.chain.begin() + static_cast<std::ptrdiff_t>(end)}},
        first, tokens, begin);
  return {};
}

bool KeptPrefixes::write_behind(const TensorOf& tensor_of, std::chrono::milliseconds patience) {
  if (!segments_) return false;
  const auto deadline = deadline_after(patience);
  for (;;) {
    hear();
    while (!offers_.empty() && write_next(offers_.front(), tensor_of)) {
      if (offers_.front().chain.empty()) offers_.pop_front();
    }
    const bool written = offers_.empty() && writing_ == 0;
    if (write_history(written && patience.count() > 0) && written) return true;
    if (!segments_->status().connected) return false;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    (void)segments_->wait(left);
  }
}

PrefixKept KeptPrefixes::status() const {
  const SegmentsStatus keeper =
      segments_ ? segments_->status() : SegmentsStatus{.connected = false};
  return {.connected = keeper.connected,
          .error = keeper.error.empty() ? error_ : keeper.error,
          .found_blocks = found_blocks_,
          .refused = refused_,
          .blocks = places_.size(),
          .bytes = bytes_,
          .waiting = offers_.size(),
          .given_up = given_up_};
}

}  // namespace aqua
