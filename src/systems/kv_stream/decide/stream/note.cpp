// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/stream/note.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::kv_stream {
namespace {

constexpr std::string_view kMagic = "aqua-stream 1";
constexpr int kHex = 16, kDecimal = 10;

bool in_names(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

// Cuts the text up to the next space off its beginning. None: there is no space.
std::optional<std::string_view> next_word(std::string_view& text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return {};
  const std::string_view word = text.substr(0, space);
  text.remove_prefix(space + 1);
  return word;
}

// As it would have been written: no sign, no leading zero.
template <typename Number>
bool read_number(std::optional<std::string_view> word, Number& number, int base = kDecimal) {
  if (!word || word->empty() || (word->front() == '0' && word->size() > 1)) return false;
  const auto [end, error] =
      std::from_chars(word->data(), word->data() + word->size(), number, base);
  if (error != std::errc{} || end != word->data() + word->size()) return false;
  return std::ranges::none_of(*word, [](char c) { return c >= 'A' && c <= 'F'; });
}

std::string hex(std::uint64_t number) {
  char digits[2 * sizeof(number)];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), number, kHex);
  return {digits, end};
}

std::string name_of(const StreamEnd& end) {
  return concat(end.group, ".", end.rank);
}

}  // namespace

Result<void> check_group(const std::string& group) {
  const bool good =
      !group.empty() && group.size() <= kLongestGroup && std::ranges::all_of(group, in_names);
  if (good) return {};
  return Error{Code::invalid_argument,
               concat("a group's name has 1 to ", kLongestGroup, " letters, digits, - and _")};
}

std::string write_note(const StreamNote& note) {
  return concat(kMagic, " ", hex(note.agreement), " ", note.from.group, " ", note.from.rank, " ",
                note.sequence, " ", note.attempt, " ", note.words);
}

Result<StreamNote> parse_note(std::string_view text) {
  const Error wrong{Code::invalid_argument, "the parcel's note is not that of a stream"};
  if (!text.starts_with(kMagic) || !text.substr(kMagic.size()).starts_with(' ')) return wrong;
  text.remove_prefix(kMagic.size() + 1);
  StreamNote note;
  if (!read_number(next_word(text), note.agreement, kHex)) return wrong;
  const auto group = next_word(text);
  if (!group) return wrong;
  note.from.group = *group;
  AQUA_TRY(check_group(note.from.group));
  if (!read_number(next_word(text), note.from.rank) ||
      !read_number(next_word(text), note.sequence) || !read_number(next_word(text), note.attempt) ||
      note.attempt == 0 || text.size() > kLongestWords)
    return wrong;
  note.words = text;
  return note;
}

std::string role_of(const StreamEnd& to) {
  return name_of(to);
}

std::string id_of(const StreamEnd& from, const StreamEnd& to, std::uint64_t sequence) {
  return concat("sequence ", sequence, " from ", name_of(from), " to ", name_of(to));
}

std::optional<StreamId> parse_id(std::string_view id, const StreamEnd& to) {
  const std::string_view whole = id;
  StreamId read;
  (void)next_word(id);
  if (!read_number(next_word(id), read.sequence)) return {};
  (void)next_word(id);
  const std::string_view from = next_word(id).value_or("");
  const std::size_t dot = from.find('.');
  if (dot == std::string_view::npos) return {};
  read.from.group = from.substr(0, dot);
  if (!read_number(from.substr(dot + 1), read.from.rank)) return {};
  if (whole != id_of(read.from, to, read.sequence)) return {};
  return read;
}

}  // namespace aqua::kv_stream
