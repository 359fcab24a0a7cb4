// SPDX-License-Identifier: Apache-2.0
// Any bytes as a parcel's segment: refused with a message, or its table names nothing outside of
// it, and is written as it was read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "parcel/fill_table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua;
  const auto segment = std::as_bytes(std::span(data, size));
  const auto fills = FillTable::read(segment);
  if (!fills.ok()) {
    if (fills.error().code != Code::invalid_argument) std::abort();
    return 0;
  }
  std::vector<std::byte> table(FillTable::bytes(fills->size()));
  if (table.size() > size) std::abort();
  for (const Fill& fill : *fills) {
    const std::uint64_t end = size - table.size();
    if (fill.offset > end || fill.bytes > end - fill.offset) std::abort();
  }
  FillTable::write(table, *fills);
  if (!std::ranges::equal(table, segment.last(table.size()))) std::abort();
  return 0;
}
