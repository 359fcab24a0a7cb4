// SPDX-License-Identifier: Apache-2.0
// Lengths of requests by the means that others published of data sets which do not ship with the
// project. Only the means are theirs: lengths are drawn from exponential distributions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/sim/input/trace.hpp"

namespace aqua::sim {

struct QuotedLengths {
  std::string_view name;
  double prompt_mean = 0, output_mean = 0;  // tokens
  std::string_view from;
};

// sharegpt, alpaca. not_found lists what there is.
[[nodiscard]] Result<QuotedLengths> find_quoted_lengths(std::string_view name);

// Prompt and answer together; longer requests are drawn again, as a context of 2,048 tokens (OPT's)
// leaves them out.
inline constexpr std::uint32_t kQuotedContext = 2048;

// A trace without arrivals, always the same.
[[nodiscard]] Trace draw_lengths(const QuotedLengths& lengths, std::size_t requests = 20'000);

// A command's trace: the quoted lengths of that name, or the file when it names none.
[[nodiscard]] Result<Trace> trace_or_lengths(const std::string& file, std::string_view lengths);

}  // namespace aqua::sim
