// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_server/vocabulary.hpp"

#include <utility>

namespace aqua::tool {
namespace {

constexpr TokenId kFirstByte = 3;
constexpr TokenId kLead = kFirstByte + 0xc3;  // "é" is C3 A9
constexpr TokenId kFollow = kFirstByte + 0xa9;
constexpr std::uint64_t kKinds = 32;            // 26 letters, 5 blanks, the character of two ids
constexpr std::uint64_t kTokensToAnEnd = 2048;  // on average

// SplitMix64's finalizer.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

std::vector<TokenId> ids_of(std::string_view text) {
  std::vector<TokenId> ids{kBegin};
  ids.reserve(text.size() + 1);
  for (const char c : text) ids.push_back(kFirstByte + static_cast<unsigned char>(c));
  return ids;
}

Continuation::Continuation(std::span<const TokenId> prompt, std::uint64_t seed) : seed_(seed) {
  for (const TokenId id : prompt) add(id);
}

void Continuation::add(TokenId id) {
  hash_ = mixed(hash_ + 0x9e3779b97f4a7c15 * (std::uint64_t{id} + 1));
  last_ = id;
}

TokenId Continuation::next(bool may_end) {
  const std::uint64_t drawn = mixed(hash_ ^ mixed(seed_ + 1));
  TokenId id = kFollow;
  if (last_ != kLead) {
    const std::uint64_t kind = drawn % kKinds;
    id = kFirstByte + static_cast<TokenId>(kind < 26 ? 'a' + kind : ' ');
    if (kind == kKinds - 1) id = kLead;
    if (may_end && (drawn >> 32) % kTokensToAnEnd == 0) id = kEnd;
  }
  add(id);
  return id;
}

std::string Detokenizer::feed(TokenId id) {
  if (id < kFirstByte || id > kFirstByte + 0xff) return {};
  const auto byte = static_cast<unsigned char>(id - kFirstByte);
  if (byte == 0xc3) {
    begun_ = static_cast<char>(byte);
    return {};
  }
  if ((byte & 0xc0) == 0x80 && begun_.empty()) return "\xef\xbf\xbd";
  return std::exchange(begun_, {}) + static_cast<char>(byte);
}

}  // namespace aqua::tool
