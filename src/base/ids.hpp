// SPDX-License-Identifier: Apache-2.0
// 128-bit random identifiers and secrets, written as 32 lower-case hex digits.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "base/text/hex.hpp"

namespace aqua {
namespace detail {
// Eight bytes as a number, the first the most significant.
[[nodiscard]] inline std::uint64_t big_endian(const std::uint8_t* bytes) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
  return word;
}
}  // namespace detail

// An identifier of 128 bits. Tag makes ClientId, LeaseSecret and so on different types.
template <typename Tag>
struct Id128 {
  std::array<std::uint8_t, 16> bytes{};
  friend bool operator==(const Id128&, const Id128&) = default;
  // Orders by the bytes, first to last, a word at a time because maps ask often.
  friend std::strong_ordering operator<=>(const Id128& a, const Id128& b) noexcept {
    const auto first = detail::big_endian(a.bytes.data()) <=> detail::big_endian(b.bytes.data());
    return first != 0
               ? first
               : detail::big_endian(a.bytes.data() + 8) <=> detail::big_endian(b.bytes.data() + 8);
  }
  [[nodiscard]] bool is_nil() const noexcept { return *this == Id128{}; }
};

namespace detail {
void fill_random(std::array<std::uint8_t, 16>& out);  // getrandom(2); aborts if the kernel has none
[[nodiscard]] Result<std::array<std::uint8_t, 16>> parse_hex(std::string_view text);
}  // namespace detail

template <typename Tag>
[[nodiscard]] Id128<Tag> random_id() {
  Id128<Tag> id;
  detail::fill_random(id.bytes);
  return id;
}
template <typename Tag>
[[nodiscard]] std::string to_string(const Id128<Tag>& id) {
  return to_hex(id.bytes);
}
// invalid_argument unless `text` is exactly 32 hex digits.
template <typename Tag>
[[nodiscard]] Result<Id128<Tag>> parse_id(std::string_view text) {
  auto bytes = detail::parse_hex(text);
  if (!bytes.ok()) return std::move(bytes).error();
  return Id128<Tag>{*bytes};
}
// Compares in constant time, so that a guess learns nothing from how long the answer takes.
template <typename Tag>
[[nodiscard]] bool same_secret(const Id128<Tag>& a, const Id128<Tag>& b) noexcept {
  unsigned diff = 0;
  for (std::size_t i = 0; i < a.bytes.size(); ++i)
    diff |= static_cast<unsigned>(a.bytes[i] ^ b.bytes[i]);
  return diff == 0;
}

using ClientId = Id128<struct ClientTag>;    // one runtime of one process, chosen by it at random
using DeviceUuid = Id128<struct DeviceTag>;  // stable for a device, the same in every process
using LeaseSecret =
    Id128<struct LeaseTag>;  // proves a grant of one slab generation to its exporter
using SessionSecret = Id128<struct SessionTag>;  // proves to the coordinator who is calling
using Epoch = Id128<struct EpochTag>;            // one life of a coordinator
using ServerOwner = Id128<struct ServerTag>;     // a coordinator's data directory

}  // namespace aqua

template <typename Tag>
struct std::hash<aqua::Id128<Tag>> {
  std::size_t operator()(const aqua::Id128<Tag>& id) const noexcept {
    std::size_t h = 0;  // the bytes are random already
    for (std::size_t i = 0; i < sizeof h; ++i) h = (h << 8) | id.bytes[i];
    return h;
  }
};
