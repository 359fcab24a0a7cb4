// SPDX-License-Identifier: Apache-2.0
#include "trace.hpp"

#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace aqua::example {
namespace {

using std::chrono::microseconds;

constexpr std::string_view kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens";
constexpr std::string_view kStampForm = "YYYY-MM-DD hh:mm:ss.fffffff";
constexpr std::size_t kMaxLine = 256;  // the longest that could be right has 27 + 2 * 11

Error at(std::size_t line, std::string_view what) {
  return Error{Code::invalid_argument,
               "trace line " + std::to_string(line) + ": " + std::string(what)};
}

std::string shown(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 40)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > 40 ? "...'" : "'");
}

// Nothing unless `text` is digits alone and at most `max`.
std::optional<std::uint32_t> number(std::string_view text, std::uint32_t max) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > max) return {};
  return value;
}

// Microseconds since 1970, were the clock on UTC; only differences are used.
std::optional<microseconds> timestamp(std::string_view text) {
  if (text.size() != kStampForm.size()) return {};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    const bool letter = kStampForm[i] >= 'A';  // stands for a digit; all else for itself
    if (letter ? !digit : text[i] != kStampForm[i]) return {};
  }
  const auto part = [&](std::size_t from, std::size_t count) {
    return number(text.substr(from, count), 9'999'999).value_or(0);
  };
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(part(0, 4))),
                                         std::chrono::month(part(5, 2)),
                                         std::chrono::day(part(8, 2))};
  const std::uint32_t hours = part(11, 2), minutes = part(14, 2), seconds = part(17, 2);
  if (!date.ok() || hours > 23 || minutes > 59 || seconds > 59) return {};
  return std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hours) +
         std::chrono::minutes(minutes) + std::chrono::seconds(seconds) +
         microseconds(part(20, 7) / 10);
}

// One line without its LF or CRLF; false at the end of the input. A line over kMaxLine is cut
// there, which its reader refuses.
bool next_line(std::istream& in, std::string& line) {
  line.clear();
  int c = in.get();
  if (c == std::istream::traits_type::eof()) return false;
  for (; c != std::istream::traits_type::eof() && c != '\n' && line.size() <= kMaxLine;
       c = in.get()) {
    line.push_back(static_cast<char>(c));
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

// `arrival` is absolute here.
Result<TraceRequest> parse(std::string_view line, std::size_t line_number,
                           std::uint32_t max_tokens) {
  const std::size_t first = line.find(',');
  const std::size_t second = first == line.npos ? line.npos : line.find(',', first + 1);
  if (second == line.npos || line.find(',', second + 1) != line.npos) {
    return at(line_number, "expected three columns, got " + shown(line));
  }
  const std::string_view stamp = line.substr(0, first);
  const std::string_view prompt = line.substr(first + 1, second - first - 1);
  const std::string_view output = line.substr(second + 1);
  const auto arrival = timestamp(stamp);
  const auto prompt_tokens = number(prompt, max_tokens);
  const auto output_tokens = number(output, max_tokens);
  if (!arrival) {
    return at(line_number, "TIMESTAMP is not a time of the form " + std::string(kStampForm) + ": " +
                               shown(stamp));
  }
  const std::string range = " is not a number from 0 to " + std::to_string(max_tokens) + ": ";
  if (!prompt_tokens) return at(line_number, "ContextTokens" + range + shown(prompt));
  if (!output_tokens) return at(line_number, "GeneratedTokens" + range + shown(output));
  return TraceRequest{*arrival, *prompt_tokens, *output_tokens};
}

}  // namespace

Result<std::vector<TraceRequest>> read_trace(std::istream& in, const TraceLimits& limits) {
  std::string line;
  if (!next_line(in, line) || line != kHeader) {
    return at(1, "expected the header " + std::string(kHeader) + ", got " + shown(line));
  }
  std::vector<TraceRequest> requests;
  microseconds start{0};
  for (std::size_t n = 2; requests.size() < limits.first_requests && next_line(in, line); ++n) {
    if (line.size() > kMaxLine) return at(n, "longer than 256 characters");
    if (requests.size() == limits.max_requests) {
      return at(n, "more than " + std::to_string(limits.max_requests) + " requests");
    }
    auto parsed = parse(line, n, limits.max_tokens);
    if (!parsed.ok()) return std::move(parsed).error();
    if (requests.empty()) start = parsed->arrival;
    parsed->arrival -= start;
    if (!requests.empty() && parsed->arrival < requests.back().arrival) {
      return at(n, "arrives before the request above it");
    }
    requests.push_back(*parsed);
  }
  if (in.bad()) return Error{Code::data_loss, "trace: reading failed part way"};
  if (requests.empty()) return at(2, "no request");
  return requests;
}

Result<std::vector<TraceRequest>> read_trace_file(const std::filesystem::path& path,
                                                  const TraceLimits& limits) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{Code::not_found, "trace: cannot open " + path.string()};
  return read_trace(in, limits);
}

}  // namespace aqua::example
