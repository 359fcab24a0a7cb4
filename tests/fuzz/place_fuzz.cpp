// SPDX-License-Identifier: Apache-2.0
// Any bytes as the input of `aqua place`: refused with a message or read, and what is read and
// small is placed by the heuristic within its rules and not below its bound, and its pairs are
// read back as they were. The same bytes as a placement: refused or read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tools/place/model/input.hpp"
#include "tools/place/placed.hpp"
#include "tools/place/report.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua::place;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto pairs = parse_pairs(text);
  if (!pairs.ok() && pairs.error().code != aqua::Code::invalid_argument) std::abort();
  auto problem = parse_problem(text);
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
  const auto again = parse_pairs(render_json(*cluster, *placed));
  if (!again.ok() || *again != named_pairs(*cluster, *placed)) std::abort();
  return 0;
}
