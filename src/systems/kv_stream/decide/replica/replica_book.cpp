// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/replica/replica_book.hpp"

#include <algorithm>

namespace aqua::kv_stream {

const ReplicaBook::Sequence* ReplicaBook::find(SequenceId sequence) const {
  const auto found = sequences_.find(sequence);
  return found == sequences_.end() ? nullptr : &found->second;
}

void ReplicaBook::written(SequenceId sequence, std::uint32_t tokens) {
  Sequence& known = sequences_[sequence];
  known.written = std::max(known.written, tokens);
}

void ReplicaBook::cut(SequenceId sequence, std::uint32_t tokens) {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) return;
  found->second.held.erase({tokens, UINT32_MAX});
  found->second.coming.erase({tokens, UINT32_MAX});
  found->second.written = std::min(found->second.written, tokens);
}

void ReplicaBook::finish(SequenceId sequence) {
  sequences_.erase(sequence);
}

TokenSpan ReplicaBook::next(SequenceId sequence) const {
  const Sequence* const known = find(sequence);
  if (known == nullptr) return {};
  std::uint32_t first = 0;
  while (first < known->written) {
    const TokenMap::Piece* piece = known->held.at(first);
    if (piece == nullptr) piece = known->coming.at(first);
    if (piece == nullptr) break;
    first = piece->span.end;
  }
  const std::uint32_t end =
      std::min({known->written, known->held.next_begin(first), known->coming.next_begin(first)});
  return first < end ? TokenSpan{first, end} : TokenSpan{};
}

void ReplicaBook::put(SequenceId sequence, TokenSpan span, PackId pack) {
  sequences_[sequence].coming.assign(span, pack);
  packs_[pack].sequences.insert(sequence);
}

void ReplicaBook::held(PackId pack) {
  const auto found = packs_.find(pack);
  if (found == packs_.end()) return;
  found->second.held = true;
  for (const SequenceId each : found->second.sequences) {
    const auto known = sequences_.find(each);
    if (known == sequences_.end()) continue;
    for (const TokenSpan& span : known->second.coming.of(pack)) {
      known->second.held.assign(span, pack);
      known->second.coming.erase(span);
    }
  }
}

void ReplicaBook::failed(PackId pack) {
  const auto found = packs_.find(pack);
  if (found == packs_.end()) return;
  for (const SequenceId each : found->second.sequences) {
    const auto known = sequences_.find(each);
    if (known == sequences_.end()) continue;
    for (TokenMap* const map : {&known->second.coming, &known->second.held})
      for (const TokenSpan& span : map->of(pack)) map->erase(span);
  }
  packs_.erase(found);
}

std::vector<SequenceSpan> ReplicaBook::live(PackId pack) const {
  std::vector<SequenceSpan> all;
  const auto found = packs_.find(pack);
  if (found == packs_.end()) return all;
  for (const SequenceId each : found->second.sequences) {
    const Sequence* const known = find(each);
    if (known == nullptr) continue;
    for (TokenSpan span : known->held.of(pack)) {
      while (!span.empty()) {
        const TokenMap::Piece* const coming = known->coming.at(span.first);
        if (coming != nullptr) {
          span.first = coming->span.end;
          continue;
        }
        const std::uint32_t end = std::min(span.end, known->coming.next_begin(span.first));
        all.push_back({each, {span.first, end}});
        span.first = end;
      }
    }
  }
  return all;
}

std::vector<PackLoad> ReplicaBook::loads() const {
  std::vector<PackLoad> all;
  for (const auto& [id, pack] : packs_) {
    if (!pack.held) continue;
    PackLoad load{.pack = id};
    for (const SequenceSpan& each : live(id)) load.tokens += each.span.count();
    all.push_back(load);
  }
  return all;
}

bool ReplicaBook::needed(PackId id, const Pack& pack) const {
  return std::ranges::any_of(pack.sequences, [&](SequenceId each) {
    const Sequence* const known = find(each);
    return known != nullptr && known->held.has(id);
  });
}

std::vector<PackId> ReplicaBook::take_dead() {
  std::vector<PackId> dead;
  std::erase_if(packs_, [&](const auto& one) {
    const bool ends = one.second.held && !needed(one.first, one.second);
    if (ends) dead.push_back(one.first);
    return ends;
  });
  return dead;
}

std::uint32_t ReplicaBook::tokens(SequenceId sequence) const {
  const Sequence* const known = find(sequence);
  return known == nullptr ? 0 : known->written;
}

std::uint32_t ReplicaBook::watermark(SequenceId sequence) const {
  const Sequence* const known = find(sequence);
  std::uint32_t mark = 0;
  while (known != nullptr) {
    const TokenMap::Piece* const piece = known->held.at(mark);
    if (piece == nullptr) break;
    mark = piece->span.end;
  }
  return mark;
}

bool ReplicaBook::is_protected(SequenceId sequence) const {
  return tokens(sequence) - watermark(sequence) <= lag_;
}

}  // namespace aqua::kv_stream
