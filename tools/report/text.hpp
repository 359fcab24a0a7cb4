// SPDX-License-Identifier: Apache-2.0
// Lines, columns and numbers of text: what traces, metrics and option lists are taken apart with.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"

namespace aqua::report {

// One line after another without LF or CRLF; an empty last one is none.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  // False at the end.
  [[nodiscard]] bool next(std::string_view& line);
  // The number of the line last returned, from 1.
  [[nodiscard]] std::size_t number() const noexcept { return number_; }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

// invalid_argument "<file> line <n>: <what>".
[[nodiscard]] Error line_error(std::string_view file, std::size_t line, std::string_view what);
// In quotes, at most 40 characters, none that a terminal would obey.
[[nodiscard]] std::string shown(std::string_view text);
// At most `columns` a line, broken at blanks; a longer word has a line of its own. No line feed at
// the end.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t columns);
// With so many digits behind the point.
[[nodiscard]] std::string fixed(double value, int digits);
// In MiB, with one digit behind the point.
[[nodiscard]] std::string mib(std::uint64_t bytes);
// The columns between the commas (no quoting), replacing what `columns` had.
void split_columns(std::string_view line, std::vector<std::string_view>& columns);

// Nothing unless all of `text` is such a number.
template <typename Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace aqua::report
