// SPDX-License-Identifier: Apache-2.0
// FillTable is what stands at the end of a parcel's segment: which ranges of the sequence lie in
// it, and where.
//
//   bytes of the fills | an entry for each, 40 bytes | how many: 8 bytes | kMark: 8 bytes
//
// Numbers have the byte order of the machine, which both ends share: first and count of layers, of
// tokens and of heads, as the giver counts them, 4 bytes each; offset and bytes, 8 each.
//
// Threads: functions of their arguments. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aqua/kv_range.hpp"
#include "aqua/result.hpp"

namespace aqua {

struct Fill {
  KvRange range{};
  std::uint64_t offset = 0;  // in the segment
  std::uint64_t bytes = 0;
  friend bool operator==(const Fill&, const Fill&) = default;
};

class FillTable {
 public:
  static constexpr std::uint64_t kMark = 0x314c4c49'46415541;
  static constexpr std::size_t kMostFills = std::size_t{1} << 16;

  // What a table of so many fills takes.
  [[nodiscard]] static constexpr std::size_t bytes(std::size_t fills) {
    return fills * kEntryBytes + 2 * sizeof(std::uint64_t);
  }
  // `to` has bytes(fills.size()); at most kMostFills.
  static void write(std::span<std::byte> to, const std::vector<Fill>& fills);
  // Reads the fills of a segment, given all bytes that were committed. invalid_argument: they do
  // not end with a table, or it names what is not before it.
  [[nodiscard]] static Result<std::vector<Fill>> read(std::span<const std::byte> segment);

 private:
  static constexpr std::size_t kEntryBytes = 6 * sizeof(std::uint32_t) + 2 * sizeof(std::uint64_t);
};

}  // namespace aqua
