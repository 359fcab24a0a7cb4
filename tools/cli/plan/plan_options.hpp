// SPDX-License-Identifier: Apache-2.0
// The command line of `aqua plan`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/kv_stream/plan.hpp"
#include "aqua/result.hpp"
#include "tools/options/command_line.hpp"
#include "tools/sim/pipeline/planning.hpp"

namespace aqua::tool {

struct PlanOptions {
  std::string trace{};
  std::string lengths{};  // in place of a trace
  std::string model = "opt-66b";
  std::string server = "a100x2";
  std::string profiles{};                  // "off": the roofline alone
  std::vector<std::uint32_t> machines{8};  // several with --sweep
  bool sweep = false;
  std::uint32_t prompt = 0;  // 0: as in the trace
  std::uint32_t context = 2048;
  std::vector<std::uint32_t> microbatches{1, 2, 4, 8, 16, 32};
  std::vector<kv_stream::MicrobatchCost> times{};  // measured, in place of the cost model's
  double stream_overhead = 1.05;
  double price = 0;
  sim::Swapping swap = sim::Swapping::may;
  double swap_lent_gb = 0;  // of neighbours, for each machine
  // At once; 0: always enough; none: as many as the trace has.
  std::optional<std::uint64_t> requests{};
  std::uint64_t simulated = 1024;  // beside, or as many as come
  bool explain = false;
  bool json = false;
};

// The line that fills `options`, which must outlive it.
[[nodiscard]] CommandLine plan_line(PlanOptions& options);
// invalid_argument names the argument and what it may be.
[[nodiscard]] Result<PlanOptions> parse_plan(std::span<const std::string_view> arguments);

}  // namespace aqua::tool
