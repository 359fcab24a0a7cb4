// SPDX-License-Identifier: Apache-2.0
#include "tools/keeper/disk/segment_key.hpp"

#include <algorithm>
#include <charconv>

#include "base/concat.hpp"
#include "base/text/hex.hpp"
#include "base/text/plain_name.hpp"

namespace aqua::keeper {
namespace {

constexpr std::string_view kBeginning = "segment ";
constexpr std::string_view kCopy = " copy ";
constexpr std::uint64_t kMostSaid = 1'000'000'000'000'000;  // what a packet can say

// The number at the beginning, which is taken off together with the space behind it.
std::uint64_t take_key_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return number;
}

// Reads which segment of another server it is a copy of; its numbers may be 0.
SegmentOrigin take_origin(std::string_view rest) {
  SegmentOrigin origin;
  origin.keeper = take_key_number(rest);
  origin.number = take_key_number(rest);
  origin.generation = take_key_number(rest);
  origin.server = rest;
  return origin;
}
bool can_be(const std::optional<SegmentOrigin>& origin) {
  if (!origin) return true;
  const auto most = std::max({origin->keeper, origin->number, origin->generation});
  return most <= kMostSaid && !origin->server.empty() && is_plain(origin->server);
}

}  // namespace

std::string key_of(const SegmentName& name, const std::optional<SegmentOrigin>& copy_of) {
  std::string key = concat(kBeginning, name.number, " ", name.generation, " ", to_hex(name.digest));
  if (!copy_of) return key;
  return concat(key, kCopy, copy_of->keeper, " ", copy_of->number, " ", copy_of->generation, " ",
                copy_of->server);
}

std::optional<LoggedSegment> segment_of(std::string_view key, std::uint64_t bytes) {
  if (!key.starts_with(kBeginning)) return std::nullopt;
  std::string_view rest = key.substr(kBeginning.size());
  LoggedSegment segment{.name = {.bytes = bytes}};
  SegmentName& name = segment.name;
  name.number = take_key_number(rest);
  name.generation = take_key_number(rest);
  const std::size_t digits = 2 * name.digest.size();
  if (!from_hex(rest.substr(0, digits), name.digest)) return std::nullopt;
  rest.remove_prefix(digits);
  if (rest.starts_with(kCopy)) segment.copy_of = take_origin(rest.substr(kCopy.size()));
  // A number with zeroes before it, say, would be another way to say the same.
  const bool said = std::max(name.number, name.generation) <= kMostSaid;
  if (name.number == 0 || name.generation == 0 || !said || !can_be(segment.copy_of) ||
      key_of(name, segment.copy_of) != key) {
    return std::nullopt;
  }
  return segment;
}

bool matches(const SegmentName& name, const SegmentDigest& digest) {
  return name.digest == SegmentDigest{} || name.digest == digest;
}

}  // namespace aqua::keeper
