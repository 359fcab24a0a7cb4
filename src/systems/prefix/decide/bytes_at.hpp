// SPDX-License-Identifier: Apache-2.0
// Numbers and hashes in memory, as they lie there: little-endian.
//
// Threads: plain functions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

#include "aqua/prefix/block_hash.hpp"

namespace aqua::prefix {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");
static_assert(sizeof(BlockHash) == 16, "hashes are copied as they lie");

// Before: the memory has so many bytes behind `offset`.
template <typename T>
void put_at(std::span<std::byte> memory, std::size_t offset, const T& value) {
  std::memcpy(memory.subspan(offset, sizeof value).data(), &value, sizeof value);
}
template <typename T>
[[nodiscard]] T get_at(std::span<const std::byte> memory, std::size_t offset) {
  T value{};
  std::memcpy(&value, memory.subspan(offset, sizeof value).data(), sizeof value);
  return value;
}
inline void put_at(std::span<std::byte> memory, std::size_t offset,
                   std::span<const BlockHash> chain) {
  std::memcpy(memory.subspan(offset, chain.size_bytes()).data(), chain.data(), chain.size_bytes());
}
// `into` has as many as are read.
inline void get_at(std::span<const std::byte> memory, std::size_t offset,
                   std::span<BlockHash> into) {
  std::memcpy(into.data(), memory.subspan(offset, into.size_bytes()).data(), into.size_bytes());
}

}  // namespace aqua::prefix
