// SPDX-License-Identifier: Apache-2.0
// KeptPrefixes are sequences that were computed ahead of a move by tokens: their KV is kept until
// the request comes that begins with their tokens, or room is wanted.
//
// Threads: one. Owns: the blocks, until they are taken.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "serve/cache.hpp"
#include "speech/asked.hpp"

namespace aqua::fleet {

class KeptPrefixes {
 public:
  struct Prefix {
    std::vector<Token> tokens{};  // all with KV
    Blocks blocks{};
  };

  // At most so many blocks are kept, or one prefix, however long: what was computed ahead of a move
  // would have to be computed again while its client waits. The oldest go first.
  KeptPrefixes(Cache& cache, std::uint32_t most_blocks) : cache_(cache), most_(most_blocks) {}

  void keep(Prefix prefix);
  // The longest that `prompt` begins with.
  [[nodiscard]] std::optional<Prefix> take(std::span<const Token> prompt);
  void drop_all();
  [[nodiscard]] std::uint32_t blocks() const noexcept { return blocks_; }
  // By the one prefix that is longer.
  [[nodiscard]] bool is_beyond_limit() const noexcept { return blocks_ > most_; }

 private:
  void drop_oldest();

  Cache& cache_;
  const std::uint32_t most_;
  std::deque<Prefix> kept_{};
  std::uint32_t blocks_ = 0;
};

}  // namespace aqua::fleet
