// SPDX-License-Identifier: Apache-2.0
// What a run tells of itself: of each way in which the requests were served, the first being what
// was asked for, and of one process that served them alone.
//
// Threads: functions of their arguments.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "options.hpp"
#include "play/serving.hpp"

namespace aqua::pipeline {

struct Run {
  std::string name{};
  Served served{};
};

// How many answers are those of one process.
[[nodiscard]] std::size_t equal_answers(const Served& many, const Served& one);
[[nodiscard]] nlohmann::json as_json(const Options& options, const std::vector<Run>& runs,
                                     const Served& one);
[[nodiscard]] std::vector<std::string> as_lines(const std::vector<Run>& runs, const Served& one);

}  // namespace aqua::pipeline
