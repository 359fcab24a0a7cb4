// SPDX-License-Identifier: Apache-2.0
// The command line of `aqua simulate`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/cli/simulate/fleet_options.hpp"
#include "tools/cli/simulate/pipeline_options.hpp"
#include "tools/options/command_line.hpp"
#include "tools/sim/report/comparison.hpp"

namespace aqua::tool {

enum class WorkloadKind : std::uint8_t {
  trace,
  poisson,
  burst,
  prefix,
  long_prompt,
  elastic,
  pipeline
};

struct SimulateOptions {
  std::string trace{};
  std::string lengths{};  // in place of a trace
  WorkloadKind workload = WorkloadKind::trace;
  std::string compare = "fcfs,cfs+dram,cfs+aqua,auto+aqua,cfs+free";
  std::string model = "llama-3-8b";
  std::string server = "a100";
  std::string borrower = "opt-30b";  // elastic
  std::uint32_t prompt = 8192;       // long-prompt, elastic: tokens of the context
  std::string profiles{};            // "off": the roofline alone
  unsigned tensor_parallel = 1;
  std::uint64_t requests = 0;    // 0: as many as the trace has, or 300 that are drawn
  std::optional<double> rate{};  // none: the stable rate is looked for
  double burst = 2;
  double burst_seconds = 60;
  std::uint64_t quiet = 25;
  std::uint64_t after = 100;
  std::optional<double> kv_tokens{};
  double lent_gb = 40;
  std::optional<double> host_gb{};  // none: no end of it
  bool known_answers = false;
  std::vector<sim::LentChange> lent_changes{};
  std::optional<double> expansion{};  // none: as pie adapts
  std::vector<sim::LinkChange> link_changes{};
  double prefix_gb = 1000;
  std::uint32_t chunk = 512;
  std::uint32_t slice = schedule::SchedulerOptions{}.slice_iterations;
  std::uint64_t seeds = 1;
  unsigned share = 0;  // models on one GPU; 0: one engine has it
  double skew = 1.5;   // of their popularity
  double share_seconds = 600;
  bool measured_interference = false;  // of engines side by side
  FleetOptions fleet{};
  double speed = 1;  // times the trace's
  sim::Sla sla{};
  bool skip = true;
  bool fallback = true;
  bool prefix_cache = false;  // always on with --workload prefix
  bool json = false;
  bool progress = true;
  std::string csv{};
  std::string html{};
  struct Sweep {
    std::string parameter;  // of the options above, without dashes
    std::vector<std::string> values;
  };
  std::optional<Sweep> sweep{};
  std::string preset{};  // only print it
  PipelineOptions pipelines{};
  // Recordings of an engine: what costs are fitted to, and others, by commas, to be predicted.
  std::string calibrate{};
  std::string predict{};
};

// The line that fills `options`, which must outlive it. Defaults in its help are those of
// `options`.
[[nodiscard]] CommandLine simulate_line(SimulateOptions& options);
// invalid_argument names the argument and what it may be.
[[nodiscard]] Result<SimulateOptions> parse_simulate(std::span<const std::string_view> arguments);
// Sets one option by its name without dashes, as a sweep does.
[[nodiscard]] Result<void> set_option(SimulateOptions& options, std::string_view name,
                                      std::string_view value);

}  // namespace aqua::tool
