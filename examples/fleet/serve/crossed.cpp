// SPDX-License-Identifier: Apache-2.0
#include "serve/crossed.hpp"

#include <cstring>

namespace aqua::fleet {
namespace {

using Words = std::vector<std::uint32_t>;

std::string bytes_of(std::span<const std::uint32_t> words) {
  std::string bytes(words.size_bytes(), '\0');
  if (!words.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

}  // namespace

std::string state_of(std::span<const Token> ids) {
  return bytes_of(ids);
}

std::string state_of(std::span<const std::uint32_t> fills, std::span<const Token> ids) {
  const Words count{static_cast<std::uint32_t>(fills.size())};
  return bytes_of(count) + bytes_of(fills) + bytes_of(ids);
}

std::optional<Crossed> crossed_of(std::string_view state, bool copied) {
  if (state.size() % sizeof(std::uint32_t) != 0) return std::nullopt;
  Words words(state.size() / sizeof(std::uint32_t));
  if (!words.empty()) std::memcpy(words.data(), state.data(), state.size());
  if (!copied) return Crossed{.ids = std::move(words)};
  if (words.empty() || words.front() == 0 || words.front() > kMostFills) return std::nullopt;
  if (words.size() < 1 + std::size_t{words.front()}) return std::nullopt;
  const auto ids = words.begin() + 1 + words.front();
  Crossed crossed{.fills = Words(words.begin() + 1, ids), .ids = Words(ids, words.end())};
  std::uint32_t before = 0;
  for (const std::uint32_t end : crossed.fills) {
    if (end <= before) return std::nullopt;
    before = end;
  }
  return crossed;
}

}  // namespace aqua::fleet
