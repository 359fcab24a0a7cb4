// SPDX-License-Identifier: Apache-2.0
// The messages of the exchange socket as bytes and back: docs/internals/exchange.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "aqua/result.hpp"
#include "base/ids.hpp"

namespace aqua::lending {

inline constexpr std::size_t kMaxExchangeEntries = 64;
inline constexpr std::size_t kMaxExchangeBytes = 8 + kMaxExchangeEntries * 32;

struct FetchEntry {
  std::uint32_t index = 0;
  std::uint64_t generation = 0;
  LeaseSecret secret;
};
struct GiveBackEntry {
  std::uint32_t index = 0;
  std::uint64_t generation = 0;
};
struct ReplyEntry {
  std::uint32_t code = 0;  // 0: success; otherwise 1 + Code
  std::uint64_t bytes = 0;
};

struct Hello {
  ClientId client;
};
struct Fetch {
  std::vector<FetchEntry> entries;
};
struct GiveBack {
  std::vector<GiveBackEntry> entries;
};
struct Reply {
  std::vector<ReplyEntry> entries;
};
using ExchangeMessage = std::variant<Hello, Fetch, GiveBack, Reply>;

// Entries beyond kMaxExchangeEntries are the caller's bug.
[[nodiscard]] std::vector<std::byte> encode(const ExchangeMessage& message);
// invalid_argument for anything that docs/internals/exchange.md does not allow.
[[nodiscard]] Result<ExchangeMessage> decode(std::span<const std::byte> bytes);

[[nodiscard]] constexpr std::uint32_t to_reply_code(Code code) noexcept {
  return 1 + static_cast<std::uint32_t>(code);
}
// Unknown numbers, from a newer exporter, read as internal.
[[nodiscard]] constexpr Code from_reply_code(std::uint32_t code) noexcept {
  return code >= 1 && code <= 1 + static_cast<std::uint32_t>(Code::internal)
             ? static_cast<Code>(code - 1)
             : Code::internal;
}

}  // namespace aqua::lending
