// Any bytes as the input of `aqua place`: refused with a message or read, and what is read and
// small is placed by the heuristic within its rules and not below its bound.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "place/input.hpp"
#include "place/report.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua::place;
  auto problem = parse_problem({reinterpret_cast<const char*>(data), size});
  if (!problem.ok()) {
    if (problem.error().code != aqua::Code::invalid_argument) std::abort();
    return 0;
  }
  const auto cluster = Cluster::make(std::move(problem).value());
  if (!cluster.ok()) {
    if (cluster.error().code != aqua::Code::invalid_argument) std::abort();
    return 0;
  }
  if (cluster->models().size() > 20 || cluster->total_gpus() > 64) return 0;
  const auto placed = solve(*cluster, {.time_limit_s = 0.02, .solver = "heuristic"});
  if (!placed.ok()) return 0;
  if (!allowed(*cluster, placed->assignment)) std::abort();
  if (placed->score.objective < placed->bound) std::abort();
  if (render_json(*cluster, *placed).empty() || render_svg(*cluster, *placed).empty()) std::abort();
  return 0;
}
