// SPDX-License-Identifier: Apache-2.0
// A comparison as text: for the terminal, for scripts, for spreadsheets, for the eye.
#pragma once

#include <string>

#include "tools/sim/report/comparison.hpp"

namespace aqua::sim {

// Which policy lets its slowest users wait least, in one sentence, with the others' figures.
[[nodiscard]] std::string verdict(const Comparison& comparison);
// The verdict, then a row per policy; with several seeds, means and 95 % confidence intervals. Then
// where the figures come from.
[[nodiscard]] std::string render_table(const Comparison& comparison);
// policies.NAME.{ttft_p50_s, ttft_p99_s, tpot_mean_s, latency_p99_s, makespan_s, goodput_rps, ...}:
// means over the seeds, with "confidence_95" beside them when there are several.
[[nodiscard]] std::string render_json(const Comparison& comparison);
// A row per request and policy, of the first seed.
[[nodiscard]] std::string render_csv(const Comparison& comparison);
// One page that needs nothing else: plots of the first seed, light and dark.
[[nodiscard]] std::string render_html(const Comparison& comparison);

}  // namespace aqua::sim
