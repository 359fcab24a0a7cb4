// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/replica/catalogue.hpp"

#include <algorithm>

namespace aqua::kv_stream {
namespace {

// Up to where the entry's ids are those that are known; its beginning where nothing of it is of
// use.
std::uint32_t good_end(const PackEntry& entry, const TokenIds& known) {
  if (entry.first >= known.size() || known.fingerprint(entry.first) != entry.before)
    return entry.first;
  const auto ids = known.ids(entry.first, std::min(known.size(), entry.end()));
  const auto differs = std::ranges::mismatch(entry.ids, ids).in2;
  return entry.first + static_cast<std::uint32_t>(differs - ids.begin());
}

}  // namespace

void ReplicaCatalogue::add(std::uint64_t pack, Pack&& content) {
  const auto [at, is_new] = packs_.try_emplace(pack, std::move(content));
  if (!is_new) return;
  for (const PackEntry& entry : at->second.entries)
    sequences_[entry.sequence].push_back({pack, &entry});
}

std::vector<std::uint64_t> ReplicaCatalogue::sequences() const {
  std::vector<std::uint64_t> all;
  all.reserve(sequences_.size());
  for (const auto& [sequence, entries] : sequences_) all.push_back(sequence);
  return all;
}

std::vector<CoverPiece> ReplicaCatalogue::cover(std::uint64_t sequence, const TokenIds& known,
                                                std::uint32_t room) const {
  std::vector<CoverPiece> pieces;
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) return pieces;
  for (const At& at : found->second) {
    const std::uint32_t end = good_end(*at.entry, known);
    if (end > at.entry->first && at.entry->end() <= room)
      pieces.push_back({at.pack, at.entry, at.entry->first, end, packs_.at(at.pack).token_bytes});
  }
  // Chooses, of those that begin within what is covered, each time the one that reaches farthest.
  std::ranges::stable_sort(pieces, {}, &CoverPiece::first);
  std::vector<CoverPiece> chosen;
  std::uint32_t covered = 0;
  for (auto next = pieces.begin(); next != pieces.end();) {
    const CoverPiece* best = nullptr;
    for (; next != pieces.end() && next->first <= covered; ++next) {
      if (next->end > covered && (best == nullptr || next->end > best->end)) best = &*next;
    }
    if (best == nullptr) break;
    chosen.push_back(*best);
    chosen.back().first = covered;
    covered = best->end;
  }
  return chosen;
}

std::optional<SamplerState> ReplicaCatalogue::sampler(std::uint64_t sequence,
                                                      const TokenIds& known) const {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) return {};
  const SamplerState* latest = nullptr;
  for (const At& at : found->second) {
    const SamplerState& state = at.entry->sampler;
    if (state.tokens == 0 || state.tokens > known.size() ||
        known.fingerprint(state.tokens) != at.entry->sampler_ids)
      continue;
    if (latest == nullptr || state.tokens > latest->tokens) latest = &state;
  }
  if (latest == nullptr) return {};
  return *latest;
}

}  // namespace aqua::kv_stream
