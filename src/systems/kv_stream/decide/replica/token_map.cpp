// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/replica/token_map.hpp"

#include <algorithm>

namespace aqua::kv_stream {

void TokenMap::erase(TokenSpan span) {
  if (span.empty()) return;
  std::vector<Piece> left;
  left.reserve(pieces_.size() + 1);
  for (const Piece& piece : pieces_) {
    const TokenSpan before{piece.span.first, std::min(piece.span.end, span.first)};
    const TokenSpan behind{std::max(piece.span.first, span.end), piece.span.end};
    if (!before.empty()) left.push_back({before, piece.pack});
    if (!behind.empty()) left.push_back({behind, piece.pack});
  }
  pieces_ = std::move(left);
}

void TokenMap::assign(TokenSpan span, std::uint64_t pack) {
  if (span.empty()) return;
  erase(span);
  auto at = std::ranges::lower_bound(pieces_, span.first, {},
                                     [](const Piece& piece) { return piece.span.first; });
  at = pieces_.insert(at, {span, pack});
  if (const auto next = at + 1;
      next != pieces_.end() && next->pack == pack && next->span.first == at->span.end) {
    at->span.end = next->span.end;
    at = pieces_.erase(next) - 1;
  }
  if (at == pieces_.begin()) return;
  const auto before = at - 1;
  if (before->pack != pack || before->span.end != at->span.first) return;
  before->span.end = at->span.end;
  pieces_.erase(at);
}

std::vector<TokenSpan> TokenMap::of(std::uint64_t pack) const {
  std::vector<TokenSpan> spans;
  for (const Piece& piece : pieces_) {
    if (piece.pack == pack) spans.push_back(piece.span);
  }
  return spans;
}

bool TokenMap::has(std::uint64_t pack) const {
  return std::ranges::find(pieces_, pack, &Piece::pack) != pieces_.end();
}

const TokenMap::Piece* TokenMap::at(std::uint32_t position) const {
  const auto behind = std::ranges::upper_bound(pieces_, position, {},
                                               [](const Piece& piece) { return piece.span.first; });
  if (behind == pieces_.begin()) return nullptr;
  const Piece& piece = *(behind - 1);
  return position < piece.span.end ? &piece : nullptr;
}

std::uint32_t TokenMap::next_begin(std::uint32_t position) const {
  const auto behind = std::ranges::upper_bound(pieces_, position, {},
                                               [](const Piece& piece) { return piece.span.first; });
  return behind == pieces_.end() ? UINT32_MAX : behind->span.first;
}

}  // namespace aqua::kv_stream
