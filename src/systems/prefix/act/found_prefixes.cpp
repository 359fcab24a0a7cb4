// SPDX-License-Identifier: Apache-2.0
// KeptPrefixes: what an earlier cache of the same name has left with the keeper. All that is of use
// stays open, so that a hit asks nobody.
#include <algorithm>

#include "base/concat.hpp"
#include "base/deadline.hpp"
#include "base/try.hpp"
#include "systems/prefix/act/kept_prefixes.hpp"

namespace aqua {

using prefix::PrefixPack;

// Whether its blocks, by this shape, are what was committed.
bool KeptPrefixes::fits(const PrefixPack& pack, const SegmentName& name) const {
  const std::size_t blocks = pack.chain.size();
  const std::uint64_t whole = std::uint64_t{shape_.block_tokens} * (blocks - 1);
  if (pack.tokens <= whole || pack.tokens > whole + shape_.block_tokens) return false;
  return name.bytes ==
         prefix::pack_head_bytes(blocks) + blocks_bytes(pack.first, blocks, pack.tokens);
}

Result<void> KeptPrefixes::find() {
  AQUA_ASSIGN(const auto all, list_segments(options_.keeper));
  std::size_t awaited = 0;
  for (const SegmentStatus& each : all) {
    // What goes with a parcel, or is a copy of another server's, is no cache's.
    if (each.parcel != 0 || each.copy_of || each.name.bytes < prefix::kHistoryHeadBytes) continue;
    AQUA_TRY(segments_->read(each.name));
    ++awaited;
  }
  Found found;
  const auto deadline = deadline_after(options_.patience);
  while (awaited > 0) {
    const auto outcomes = segments_->opened();
    awaited -= outcomes.size();
    for (const OpenedSegment& each : outcomes) look_at(each, found);
    if (awaited == 0 || !outcomes.empty()) continue;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !segments_->status().connected) {
      failed({Code::unavailable,
              concat("prefix cache: the keeper has not opened ", awaited, " segments")});
      break;
    }
    (void)segments_->wait(left);
  }
  take_in(found);
  return {};
}

void KeptPrefixes::look_at(const OpenedSegment& opened, Found& found) {
  if (opened.error) return;  // it was dropped meanwhile, or cannot be mapped here
  const std::span<const std::byte> bytes{opened.segment.address, opened.name.bytes};
  if (auto pack = prefix::parse_pack_head(bytes); pack.ok()) {
    const bool ours = pack->head.owner == owner_hash_;
    if (ours && pack->head.shape == shape_hash_ && fits(*pack, opened.name)) {
      found.packs.push_back(*std::move(pack));
      found.segments.push_back(opened);
      return;
    }
    refused_ += ours ? 1U : 0U;
    (void)segments_->close(opened.name.number, ours ? SegmentAfter::drop : SegmentAfter::keep);
    return;
  }
  prefix::PrefixHistory read = history_;
  const auto head = read.read(bytes);
  (void)segments_->close(opened.name.number, SegmentAfter::keep);
  if (!head.ok() || head->owner != owner_hash_) return;
  if (head->shape != shape_hash_ || head->order <= found_order_) {
    found.needless.push_back(opened.name);
    return;
  }
  if (history_at_.number != 0) found.needless.push_back(history_at_);
  history_ = std::move(read);
  history_at_ = opened.name;
  found_order_ = head->order;
}

void KeptPrefixes::take_in(const Found& found) {
  std::vector<bool> used(found.packs.size());
  order_ = found_order_;
  for (const std::size_t i : prefix::usable_packs(found.packs)) {
    const PrefixPack& pack = found.packs[i];
    const OpenedSegment& opened = found.segments[i];
    order_ = std::max(order_, pack.head.order);
    enter(opened.name.number,
          {.name = opened.name,
           .capacity = opened.segment.bytes,
           .state = State::opened,
           .blocks = {pack.chain.begin() + pack.first, pack.chain.end()}},
          pack.first, pack.tokens, prefix::pack_head_bytes(pack.chain.size()));
    const auto entered = packs_.find(opened.name.number);
    if (entered->second.live == 0) end(entered);  // other packs have all that it has
    used[i] = true;
    found_.push_back(pack);
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;  // of the others no prompt leads to the blocks any more
    ++refused_;
    (void)segments_->close(found.segments[i].name.number, SegmentAfter::drop);
  }
  for (const SegmentName& name : found.needless) (void)segments_->drop(name);
  found_blocks_ = places_.size();
}

std::vector<prefix::BlockHash> KeptPrefixes::restore(prefix::PrefixIndex& index) {
  const auto packs = std::exchange(found_, {});
  prefix::restore_index(index, packs, history_, found_order_,
                        [this](const prefix::BlockHash& block) { return has(block); });
  std::vector<prefix::BlockHash> there;
  for (const PrefixPack& pack : packs) {
    const std::size_t hit = index.match(pack.prefix()).blocks;
    for (std::size_t i = pack.first; i < pack.chain.size(); ++i) {
      if (i < hit) {
        there.push_back(pack.chain[i]);
      } else {
        drop(pack.chain[i]);  // for which the index has no room
      }
    }
  }
  return there;
}

}  // namespace aqua
