// SPDX-License-Identifier: Apache-2.0
// What `aqua simulate --workload pipeline` is told beside the options of every workload.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/options/command_line.hpp"
#include "tools/sim/pipeline/planning.hpp"
#include "tools/sim/pipeline/requests.hpp"
#include "tools/sim/pipeline/shape.hpp"

namespace aqua::tool {

struct PipelineOptions {
  std::uint32_t machines = 8;
  bool all_machines = false;
  std::string policies = "colocated,colocated+dp,disaggregated,disaggregated+dp";
  std::vector<std::uint32_t> microbatches{1, 2, 4, 8, 16, 32};
  sim::EarlyStops stops = sim::EarlyStops::request;
  bool refill = false;
  std::uint32_t prompt = 0;  // 0: as in the trace
  std::uint32_t context = 2048;
  double stream_overhead = 1.05;
  bool links = true;
  sim::Swapping swap = sim::Swapping::never;
  double swap_lent_gb = 0;  // of neighbours, for each machine
  std::string timeline{};
  std::vector<sim::Outage> outages{};
  std::optional<double> mtbf{};             // seconds between the failures of a machine, by chance
  std::optional<sim::Recovery> recovery{};  // restore
  // Seconds. Assumed: 20 in all, which the paper's own figures follow from.
  double detection = 2, restart = 10, weights = 8;
  friend bool operator==(const PipelineOptions&, const PipelineOptions&) = default;
};

// Sizes by commas, 1 to `most`, each once.
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_microbatches(std::string_view value,
                                                                    std::uint32_t most);

// Adds them under a heading of their own.
void add_pipelines(CommandLine& line, PipelineOptions& options);

}  // namespace aqua::tool
