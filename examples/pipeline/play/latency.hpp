// SPDX-License-Identifier: Apache-2.0
// How long requests took, from their prompts to their last tokens: all of them, or those that a
// death has interrupted.
//
// Threads: functions of their arguments.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "model/toy_model.hpp"

namespace aqua::pipeline {

using Latencies = std::map<Word, double>;  // seconds, by sequence

// 0 where there are none.
[[nodiscard]] double mean_latency(const Latencies& all);
// The mean of these sequences alone. None: there are no sequences, or one of them is not in `all`.
[[nodiscard]] std::optional<double> mean_latency(const Latencies& all,
                                                 const std::set<Word>& sequences);

}  // namespace aqua::pipeline
