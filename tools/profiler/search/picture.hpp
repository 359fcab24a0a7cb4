// A profile as a page with plots: latency and memory against the rate.
#pragma once

#include <string>

#include "tools/profiler/search/record.hpp"
#include "tools/profiler/load/sla.hpp"

namespace aqua::profiler {

[[nodiscard]] std::string render_page(const Record& record, const Sla& sla);

}  // namespace aqua::profiler
