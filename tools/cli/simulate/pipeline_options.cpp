// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/pipeline_options.hpp"

#include <algorithm>
#include <string_view>

#include "aqua/kv_stream/plan.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/report/text.hpp"

namespace aqua::tool {
namespace {

Result<void> set_outages(PipelineOptions& options, std::string_view value) {
  std::vector<std::string_view> all;
  report::split_columns(value, all);
  options.outages.clear();
  for (const std::string_view one : all) {
    const std::size_t first = one.find(':'), last = one.rfind(':');
    if (first == one.npos || first == last)
      return Error{Code::invalid_argument, "expected S:PIPELINE:STAGE,..."};
    AQUA_ASSIGN(const double at, parse_between<double>(one.substr(0, first), 0, 1e6));
    sim::Outage outage{.at = sim::picos(at)};
    AQUA_ASSIGN(outage.pipeline,
                parse_between<std::uint32_t>(one.substr(first + 1, last - first - 1), 0, 1000));
    AQUA_ASSIGN(outage.stage, parse_between<std::uint32_t>(one.substr(last + 1), 0, 1000));
    options.outages.push_back(outage);
  }
  std::ranges::stable_sort(options.outages, {}, &sim::Outage::at);
  return {};
}

}  // namespace

Result<std::vector<std::uint32_t>> parse_microbatches(std::string_view value, std::uint32_t most) {
  std::vector<std::string_view> all;
  report::split_columns(value, all);
  std::vector<std::uint32_t> sizes;
  for (const std::string_view one : all) {
    AQUA_ASSIGN(const auto size, parse_between<std::uint32_t>(one, 1, most));
    if (std::ranges::find(sizes, size) != sizes.end()) {
      return Error{Code::invalid_argument, concat("a microbatch of ", size, " is named twice")};
    }
    sizes.push_back(size);
  }
  return sizes;
}

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
            AQUA_ASSIGN(o.microbatches, parse_microbatches(value, 32));
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
      .choice("--swap", o.swap,
              {{"never", sim::Swapping::never},
               {"may", sim::Swapping::may},
               {"must", sim::Swapping::must}},
              "NAME",
              "KV of microbatches that are not computed is in host memory: may, where the planner "
              "finds that faster; must, in every pipeline of two stages or more")
      .number("--swap-lent-gb", o.swap_lent_gb, 0, 1e6, "GB",
              "that neighbours lend each machine, for what is swapped, before host memory")
      .option("--outages", "S:PIPELINE:STAGE,...",
              "at second S this stage of this colocated pipeline fails, both from 0 on",
              [&o](std::string_view value) { return set_outages(o, value); })
      .number("--mtbf", o.mtbf, 1, 1e9, "S",
              "each machine fails by chance, so many seconds apart in the mean, by the run's seed; "
              "beside --outages")
      .choice("--recovery", o.recovery,
              {{"scratch", sim::Recovery::scratch},
               {"reprefill", sim::Recovery::reprefill},
               {"restore", sim::Recovery::restore},
               {"restore+standby", sim::Recovery::restore_standby}},
              "NAME",
              "requests under way begin anew; have their KV computed once more; get it from a "
              "replica; the same, on a machine that stands by",
              "restore")
      .number("--detection", o.detection, 0, 1e5, "S", "until a failure is known")
      .number("--restart", o.restart, 0, 1e5, "S", "of a machine; none of one that stands by")
      .number("--load", o.weights, 0, 1e5, "S", "of its weights; none of one that stands by")
      .text("--timeline", o.timeline, "FILE", "a lane a stage, for chrome://tracing or Perfetto");
}

}  // namespace aqua::tool
