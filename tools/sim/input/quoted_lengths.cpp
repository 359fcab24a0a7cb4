// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/input/quoted_lengths.hpp"

#include <array>
#include <cmath>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/report/text.hpp"
#include "tools/sim/engine/random.hpp"

namespace aqua::sim {
namespace {

constexpr std::array<QuotedLengths, 2> kQuoted{
    {{"sharegpt", 161.31, 337.99,
      "ShareGPT: means of 161 and 338 tokens (vLLM, SOSP 2023, Figure 11)"},
     {"alpaca", 19.31, 58.45, "Alpaca: means of 19 and 58 tokens (vLLM, SOSP 2023, Figure 11)"}}};

// At least 1; rounding up adds a half to the mean.
std::uint32_t length(Random& random, double mean) {
  return 1 + static_cast<std::uint32_t>(random.exponential(mean - 0.5));
}

}  // namespace

Result<QuotedLengths> find_quoted_lengths(std::string_view name) {
  std::string known;
  for (const QuotedLengths& lengths : kQuoted) {
    if (lengths.name == name) return lengths;
    known += concat(known.empty() ? "" : ", ", lengths.name);
  }
  return Error{Code::not_found, concat("no lengths ", report::shown(name), ": there are ", known)};
}

Trace draw_lengths(const QuotedLengths& lengths, std::size_t requests) {
  Random random(1);
  Trace trace{.format = TraceFormat::lengths, .requests = {}, .hashes = {}};
  while (trace.requests.size() < requests) {
    TraceRequest request;
    request.prompt_tokens = length(random, lengths.prompt_mean);
    request.output_tokens = length(random, lengths.output_mean);
    if (request.prompt_tokens + request.output_tokens <= kQuotedContext)
      trace.requests.push_back(request);
  }
  return trace;
}

Result<Trace> trace_or_lengths(const std::string& file, std::string_view lengths) {
  if (lengths.empty()) return read_trace_file(file);
  AQUA_ASSIGN(const QuotedLengths quoted, find_quoted_lengths(lengths));
  return draw_lengths(quoted);
}

}  // namespace aqua::sim
