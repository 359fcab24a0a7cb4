// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/input/trace_line.hpp"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/report/text.hpp"

namespace aqua::sim {
namespace {

using nlohmann::json;

constexpr std::string_view kAzure = "TIMESTAMP,ContextTokens,GeneratedTokens";
constexpr std::string_view kBurst =
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type";
constexpr std::string_view kLengths = "num_prefill_tokens,num_decode_tokens";

Error bad(std::string_view column, std::string_view expected, std::string_view got) {
  return Error{Code::invalid_argument,
               concat(column, " is not ", expected, ": ", report::shown(got))};
}

Result<std::uint32_t> tokens(std::string_view column, std::string_view text, std::uint32_t max) {
  const auto value = report::parse_number<std::uint32_t>(text);
  if (!value || *value > max) return bad(column, concat("a number from 0 to ", max), text);
  return *value;
}

Result<void> expect_columns(const std::vector<std::string_view>& columns, std::size_t at_least,
                            std::size_t at_most, std::string_view line) {
  if (columns.size() >= at_least && columns.size() <= at_most) return {};
  return Error{Code::invalid_argument, concat("expected ", at_least, " columns, got ",
                                              columns.size(), ": ", report::shown(line))};
}

Result<TraceLine> parse_csv(TraceFormat format, std::string_view line, std::uint32_t max) {
  thread_local std::vector<std::string_view> columns;
  report::split_columns(line, columns);
  TraceLine parsed;
  if (format == TraceFormat::azure) {
    AQUA_TRY(expect_columns(columns, 3, 3, line));
    const auto at = parse_timestamp(columns[0]);
    if (!at) return bad("TIMESTAMP", "a time like 2023-11-16 18:15:46.6805900", columns[0]);
    parsed.at = *at;
    AQUA_ASSIGN(parsed.prompt, tokens("ContextTokens", columns[1], max));
    AQUA_ASSIGN(parsed.output, tokens("GeneratedTokens", columns[2], max));
  } else if (format == TraceFormat::burstgpt) {
    AQUA_TRY(expect_columns(columns, 6, 6, line));
    const auto at = report::parse_number<double>(columns[0]);
    if (!at || !(*at >= 0) || *at > 1e9) return bad("Timestamp", "seconds", columns[0]);
    parsed.at = *at;
    AQUA_ASSIGN(parsed.prompt, tokens("Request tokens", columns[2], max));
    AQUA_ASSIGN(parsed.output, tokens("Response tokens", columns[3], max));
  } else {
    AQUA_TRY(expect_columns(columns, 2, 16, line));
    AQUA_ASSIGN(parsed.prompt, tokens("num_prefill_tokens", columns[0], max));
    AQUA_ASSIGN(parsed.output, tokens("num_decode_tokens", columns[1], max));
  }
  return parsed;
}

Result<std::uint64_t> whole(const json& row, const char* key, std::uint64_t max) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() > max) {
    return Error{Code::invalid_argument, concat(key, " is not a number from 0 to ", max)};
  }
  return found->get<std::uint64_t>();
}

Result<TraceLine> parse_json(std::string_view line, std::uint32_t max,
                             std::vector<std::uint64_t>& hashes) {
  const json row = json::parse(line, nullptr, false);
  if (!row.is_object()) {
    return Error{Code::invalid_argument,
                 concat("expected a JSON object, got ", report::shown(line))};
  }
  TraceLine parsed;
  AQUA_ASSIGN(const std::uint64_t at, whole(row, "timestamp", 1'000'000'000'000));
  parsed.at = static_cast<double>(at) / 1000;
  AQUA_ASSIGN(const std::uint64_t prompt, whole(row, "input_length", max));
  AQUA_ASSIGN(const std::uint64_t output, whole(row, "output_length", max));
  parsed.prompt = static_cast<std::uint32_t>(prompt);
  parsed.output = static_cast<std::uint32_t>(output);
  const auto ids = row.find("hash_ids");
  if (ids == row.end()) return parsed;
  const std::size_t most = prompt / kMooncakeBlock + 1;
  if (!ids->is_array() || ids->size() > most) {
    return Error{Code::invalid_argument,
                 concat("hash_ids is not a list of at most ", most, " numbers")};
  }
  for (const json& id : *ids) {
    if (!id.is_number_unsigned()) {
      return Error{Code::invalid_argument, "hash_ids holds something that is no number"};
    }
    hashes.push_back(id.get<std::uint64_t>());
  }
  return parsed;
}

// Digits of fixed places; nothing if one is none.
std::optional<unsigned> digits(std::string_view text, std::size_t from, std::size_t count) {
  unsigned value = 0;
  for (const char c : text.substr(from, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value;
}

}  // namespace

std::optional<double> parse_timestamp(std::string_view text) {
  if (text.ends_with("+00:00")) text.remove_suffix(6);
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[10] != ' ' || text[13] != ':' ||
      text[16] != ':') {
    return std::nullopt;
  }
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  double fraction = 0;
  if (text.size() > 19) {
    const std::size_t places = text.size() - 20;
    const auto value = digits(text, 20, places);
    if (text[19] != '.' || places == 0 || places > 9 || !value) return std::nullopt;
    fraction = *value * std::pow(10.0, -static_cast<double>(places));
  }
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<double>(days) * 86400 + *hour * 3600 + *minute * 60 + *second + fraction;
}

std::optional<TraceFormat> format_of(std::string_view first_line) {
  if (first_line == kAzure) return TraceFormat::azure;
  if (first_line == kBurst) return TraceFormat::burstgpt;
  if (first_line.starts_with(kLengths)) return TraceFormat::lengths;
  if (first_line.starts_with("{")) return TraceFormat::mooncake;
  return std::nullopt;
}

Result<TraceLine> parse_trace_line(TraceFormat format, std::string_view line,
                                   const TraceLimits& limits, std::vector<std::uint64_t>& hashes) {
  if (format == TraceFormat::mooncake) return parse_json(line, limits.max_tokens, hashes);
  return parse_csv(format, line, limits.max_tokens);
}

}  // namespace aqua::sim
