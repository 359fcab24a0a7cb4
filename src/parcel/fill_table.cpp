// SPDX-License-Identifier: Apache-2.0
#include "parcel/fill_table.hpp"

#include <cstring>

#include "base/concat.hpp"

namespace aqua {
namespace {

// Calls with each number of an entry, in their order there.
template <typename Entry, typename Each>
void each_number(Entry& fill, const Each& each) {
  for (auto* const axis : {&fill.range.layers, &fill.range.tokens, &fill.range.heads}) {
    each(axis->first);
    each(axis->count);
  }
  each(fill.offset);
  each(fill.bytes);
}

Error no_table(const char* why) {
  return Error{Code::invalid_argument, concat("a parcel's segment: ", why)};
}

}  // namespace

void FillTable::write(std::span<std::byte> to, const std::vector<Fill>& fills) {
  std::byte* at = to.data();
  const auto put = [&](const auto& number) {
    std::memcpy(at, &number, sizeof number);
    at += sizeof number;
  };
  for (const Fill& fill : fills) each_number(fill, put);
  put(std::uint64_t{fills.size()});
  put(kMark);
}

Result<std::vector<Fill>> FillTable::read(std::span<const std::byte> segment) {
  std::uint64_t count = 0, mark = 0;
  if (segment.size() < bytes(0)) return no_table("too short");
  const auto tail = segment.last(bytes(0));
  std::memcpy(&count, tail.data(), sizeof count);
  std::memcpy(&mark, tail.data() + sizeof count, sizeof mark);
  if (mark != kMark) return no_table("it does not end with a table");
  if (count > kMostFills || bytes(count) > segment.size()) return no_table("too many ranges");
  const std::uint64_t end = segment.size() - bytes(count);
  std::vector<Fill> fills(count);
  const std::byte* at = segment.data() + end;
  const auto get = [&](auto& number) {
    std::memcpy(&number, at, sizeof number);
    at += sizeof number;
  };
  for (Fill& fill : fills) {
    each_number(fill, get);
    if (fill.offset > end || fill.bytes > end - fill.offset) {
      return no_table("a range that lies elsewhere");
    }
  }
  return fills;
}

}  // namespace aqua
