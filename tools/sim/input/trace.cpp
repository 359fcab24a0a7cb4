// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/input/trace.hpp"

#include <algorithm>
#include <limits>

#include "base/concat.hpp"
#include "base/read_file.hpp"
#include "base/try.hpp"
#include "tools/report/text.hpp"
#include "tools/sim/input/trace_line.hpp"

namespace aqua::sim {
namespace {

constexpr double kLongest = 100 * 86400;  // seconds; picoseconds end soon after

// Seconds since 1970 have some 0.2 us of a double's precision: differences are taken first.
Result<void> set_arrivals(Trace& trace, const std::vector<double>& at) {
  const auto [first, last] = std::minmax_element(at.begin(), at.end());
  const double start = *first;
  if (*last - start > kLongest) {
    return Error{Code::invalid_argument, "trace: spans more than 100 days; cut it"};
  }
  for (std::size_t i = 0; i < at.size(); ++i) {
    trace.requests[i].arrival = picos(at[i] - start);
  }
  std::stable_sort(
      trace.requests.begin(), trace.requests.end(),
      [](const TraceRequest& a, const TraceRequest& b) { return a.arrival < b.arrival; });
  return {};
}

std::uint32_t lift(std::uint32_t tokens, Trace& trace) {
  trace.lifted += tokens == 0 ? 1 : 0;
  return std::max(tokens, 1u);
}

}  // namespace

Result<Trace> read_trace(std::string_view text, const TraceLimits& limits) {
  report::Lines lines(text);
  std::string_view line;
  std::optional<TraceFormat> format;
  if (lines.next(line)) format = format_of(line);
  if (!format) {
    return report::line_error(
        "trace", 1,
        concat("none of the known formats (Azure, BurstGPT, Mooncake, lengths): ",
               report::shown(line)));
  }
  Trace trace;
  trace.format = *format;
  std::vector<double> at;
  // A Mooncake trace has no header.
  for (bool more = *format == TraceFormat::mooncake || lines.next(line); more;
       more = lines.next(line)) {
    if (at.size() == limits.max_requests) {
      return report::line_error("trace", lines.number(),
                                concat("more than ", limits.max_requests, " requests"));
    }
    const std::size_t hashes = trace.hashes.size();
    const auto parsed = parse_trace_line(*format, line, limits, trace.hashes);
    if (!parsed.ok()) return report::line_error("trace", lines.number(), parsed.error().message);
    if (trace.hashes.size() > std::numeric_limits<std::uint32_t>::max()) {
      return report::line_error("trace", lines.number(), "more than 4,294,967,295 block hashes");
    }
    at.push_back(parsed->at);
    trace.requests.push_back(
        {.prompt_tokens = lift(parsed->prompt, trace),
         .output_tokens = lift(parsed->output, trace),
         .hash_begin = static_cast<std::uint32_t>(hashes),
         .hash_count = static_cast<std::uint32_t>(trace.hashes.size() - hashes)});
  }
  if (at.empty()) return report::line_error("trace", 2, "no request");
  AQUA_TRY(set_arrivals(trace, at));
  return trace;
}

Result<Trace> read_trace_file(const std::filesystem::path& path, const TraceLimits& limits) {
  AQUA_ASSIGN(const std::string text, read_file(path));
  auto trace = read_trace(text, limits);
  if (!trace.ok()) {
    return Error{trace.error().code, concat(path.string(), ": ", trace.error().message)};
  }
  return trace;
}

}  // namespace aqua::sim
