// SPDX-License-Identifier: Apache-2.0
// A profile as a page with plots: latency and memory against the rate.
#pragma once

#include <string>

#include "tools/profiler/load/sla.hpp"
#include "tools/profiler/search/record.hpp"

namespace aqua::profiler {

// What was found, in one sentence.
[[nodiscard]] std::string verdict(const Record& record);
// Begins with the verdict.
[[nodiscard]] std::string render_page(const Record& record, const Sla& sla);

}  // namespace aqua::profiler
