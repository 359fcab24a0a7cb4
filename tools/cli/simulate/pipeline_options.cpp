// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/pipeline_options.hpp"

#include <string_view>

#include "aqua/kv_stream/plan.hpp"
#include "base/try.hpp"
#include "tools/report/text.hpp"

namespace aqua::tool {

void add_pipelines(CommandLine& line, PipelineOptions& o) {
  using sim::EarlyStops;
  line.group("Pipelines of machines (--workload pipeline; docs/plan/pipelines.md)")
      .number("--machines", o.machines, 1, kv_stream::kMostMachines, "D", "of --server's kind")
      .flag("--all-machines", o.all_machines, "only splits that leave none over")
      .text("--policies", o.policies, "P,P...",
            "colocated, colocated+dp, disaggregated, disaggregated+dp; the first two also with "
            "+chunked. Of each the best split is found")
      .option(
          "--microbatches", "B,B...", "requests of a microbatch, to choose from, at most 32",
          [&o](std::string_view value) -> Result<void> {
            std::vector<std::string_view> all;
            report::split_columns(value, all);
            o.microbatches.clear();
            for (const std::string_view one : all) {
              AQUA_ASSIGN(const auto size, parse_between<std::uint32_t>(one, 1, 32));
              o.microbatches.push_back(size);
            }
            return {};
          },
          "1,2,4,8,16,32")
      .choice(
          "--stops", o.stops,
          {{"none", EarlyStops::none},
           {"microbatch", EarlyStops::microbatch},
           {"request", EarlyStops::request}},
          "NAME",
          "answers end early: none, all have the mean length; microbatch, those of one have the "
          "same; request, each has its own")
      .flag("--refill", o.refill,
            "whoever ends is replaced at once; else with the whole microbatch")
      .number("--fixed-prompt", o.prompt, 0, 1'000'000, "N",
              "tokens of every prompt; 0: as in the trace")
      .number("--context", o.context, 2, 65'536, "N", "longer requests are left out")
      .number("--stream-overhead", o.stream_overhead, 1, 100, "M",
              "so many times as long takes a prompt whose KV is streamed away")
      .flag("--no-links", o.links, "nothing takes time between machines", false)
      .text("--timeline", o.timeline, "FILE", "a lane a stage, for chrome://tracing or Perfetto");
}

}  // namespace aqua::tool
