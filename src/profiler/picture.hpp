// A profile as a page with plots: latency and memory against the rate.
#pragma once

#include <string>

#include "profiler/record.hpp"
#include "profiler/sla.hpp"

namespace aqua::profiler {

[[nodiscard]] std::string render_page(const Record& record, const Sla& sla);

}  // namespace aqua::profiler
