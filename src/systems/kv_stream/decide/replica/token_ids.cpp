// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/replica/token_ids.hpp"

namespace aqua::kv_stream {
namespace {

// The finalizer of SplitMix64, which no two words share.
std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
  return word ^ (word >> 31);
}

}  // namespace

void TokenIds::append(std::span<const std::uint32_t> ids) {
  std::uint64_t all = fingerprint(size());
  for (const std::uint32_t id : ids) {
    all = mixed(all + 0x9e3779b97f4a7c15ULL * (std::uint64_t{id} + 1));
    ids_.push_back(id);
    fingerprints_.push_back(all);
  }
}

void TokenIds::cut(std::uint32_t tokens) {
  if (tokens >= size()) return;
  ids_.resize(tokens);
  fingerprints_.resize(tokens);
}

}  // namespace aqua::kv_stream
