// SPDX-License-Identifier: Apache-2.0
// The ids of a sequence's tokens, and a fingerprint of each of its beginnings. KV of a position is
// that of all ids up to it: two that have the same fingerprint there have the same KV, whoever
// computed it, and in whatever term.
//
// Threads: none of its own; a value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace aqua::kv_stream {

class TokenIds {
 public:
  TokenIds() = default;
  explicit TokenIds(std::span<const std::uint32_t> ids) { append(ids); }

  void append(std::span<const std::uint32_t> ids);
  // Keeps the first so many; more than there are change nothing.
  void cut(std::uint32_t tokens);
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ids_.size()); }
  [[nodiscard]] std::span<const std::uint32_t> ids(std::uint32_t first, std::uint32_t end) const {
    return std::span(ids_).subspan(first, end - first);
  }
  // The fingerprint of the first `tokens` ids. Before: there are so many.
  [[nodiscard]] std::uint64_t fingerprint(std::uint32_t tokens) const {
    return tokens == 0 ? kOfNone : fingerprints_[tokens - 1];
  }

 private:
  static constexpr std::uint64_t kOfNone = 0x61717561'2d6b7673;
  std::vector<std::uint32_t> ids_{};
  std::vector<std::uint64_t> fingerprints_{};  // of the ids up to each, itself counted
};

}  // namespace aqua::kv_stream
