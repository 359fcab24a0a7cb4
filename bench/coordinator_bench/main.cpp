// SPDX-License-Identifier: Apache-2.0
// coordinator_bench: what the coordinator costs. See --help, docs/plan/benchmarks.md.
#include <cstdio>
#include <fstream>

#include "coordinator_bench/goals.hpp"
#include "coordinator_bench/options.hpp"
#include "coordinator_bench/parts.hpp"
#include "tools/daemon/descriptor_limit.hpp"

int main(int argc, char** argv) {
  using namespace aqua::bench;
  const BenchOptions options = parse_bench_options(argc, argv);
  // Lifelines and requests of a thousand clients; the servers inherit it.
  (void)aqua::daemon::raise_descriptor_limit();
  nlohmann::json result;
  if (options.wants("saturation")) result["saturation"] = measure_saturation(options);
  if (options.wants("open-loop")) result["open_loop"] = measure_open_loop(options);
  if (options.wants("fan-out")) result["fan_out"] = measure_fan_out(options);
  if (options.wants("scale")) result["scale"] = measure_scale(options);
  result["goals"] = goals_of(result);
  std::printf("%s\n", result.dump(1).c_str());
  if (!options.json.empty()) std::ofstream(options.json) << result;
  return 0;
}
