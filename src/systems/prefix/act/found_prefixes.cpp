// SPDX-License-Identifier: Apache-2.0
// KeptPrefixes: what an earlier cache of the same name has left with the keeper. All that is of use
// stays open, so that a hit asks nobody.
#include <algorithm>

#include "base/concat.hpp"
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
    if (each.parcel != 0 || each.copy_of || each.name.bytes < prefix::pack_head_bytes(1)) continue;
    AQUA_TRY(segments_->read(each.name));
    ++awaited;
  }
  std::vector<PrefixPack> packs;
  std::vector<OpenedSegment> found;
  const auto deadline = std::chrono::steady_clock::now() + options_.patience;
  while (awaited > 0) {
    const auto outcomes = segments_->opened();
    awaited -= outcomes.size();
    for (const OpenedSegment& each : outcomes) look_at(each, packs, found);
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
  take_in(std::move(packs), found);
  return {};
}

void KeptPrefixes::look_at(const OpenedSegment& opened, std::vector<PrefixPack>& packs,
                           std::vector<OpenedSegment>& found) {
  if (opened.error) return;  // it was dropped meanwhile, or cannot be mapped here
  auto pack = prefix::parse_pack_head({opened.segment.address, opened.name.bytes});
  const bool ours = pack.ok() && pack->owner == owner_hash_;
  if (ours && pack->shape == shape_hash_ && fits(*pack, opened.name)) {
    packs.push_back(*std::move(pack));
    found.push_back(opened);
    return;
  }
  refused_ += ours ? 1U : 0U;
  (void)segments_->close(opened.name.number, ours ? SegmentAfter::drop : SegmentAfter::keep);
}

void KeptPrefixes::take_in(std::vector<PrefixPack> packs, const std::vector<OpenedSegment>& found) {
  std::vector<bool> used(packs.size());
  for (const std::size_t i : prefix::usable_packs(packs)) {
    const PrefixPack& pack = packs[i];
    order_ = std::max(order_, pack.order);
    enter(found[i].name.number,
          {.name = found[i].name,
           .capacity = found[i].segment.bytes,
           .state = State::opened,
           .blocks = {pack.chain.begin() + pack.first, pack.chain.end()}},
          pack.first, pack.tokens, prefix::pack_head_bytes(pack.chain.size()));
    const auto entered = packs_.find(found[i].name.number);
    if (entered->second.live == 0) end(entered);  // other packs have all that it has
    used[i] = true;
    found_.push_back(pack);
  }
  for (std::size_t i = 0; i < packs.size(); ++i) {
    if (used[i]) continue;  // of the others no prompt leads to the blocks any more
    ++refused_;
    (void)segments_->close(found[i].name.number, SegmentAfter::drop);
  }
  found_blocks_ = places_.size();
}

}  // namespace aqua
