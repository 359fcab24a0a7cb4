// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "aqua/schedule/scheduler.hpp"
#include "option_table.hpp"

namespace aqua::example {
namespace {

Options::Role role_of(std::string_view text) {
  if (text == "coordinator") return Options::Role::coordinator;
  if (text == "producer") return Options::Role::producer;
  if (text == "consumer") return Options::Role::consumer;
  throw Failure("--role " + std::string(text) + ": expected coordinator, producer or consumer");
}

std::string policy_of(std::string_view text) {
  std::string known;
  for (const std::string& name : policy::scheduler_names()) {
    if (name == text) return name;
    known += (known.empty() ? "" : ", ") + name;
  }
  throw Failure("--policy " + std::string(text) + ": expected one of " + known);
}

void add_workload(OptionTable<Options>& table) {
  using std::chrono::seconds;
  table.value("--trace", [](auto& o, auto&, auto v) { o.workload.trace = v; })
      .value("--requests",
             [](auto& o, auto& n, auto v) {
               o.workload.requests = number<std::size_t>(n, v, 1, 100'000);
             })
      .value("--seed", [](auto& o, auto& n,
                          auto v) { o.workload.seed = number<std::uint64_t>(n, v, 0, UINT64_MAX); })
      .value("--arrivals-in",
             [](auto& o, auto& n, auto v) {
               o.workload.arrivals_in = seconds(number(n, v, 1, 86'400));
             })
      .value("--output-scale", [](auto& o, auto& n, auto v) {
        o.workload.output_scale = number(n, v, 0.001, 100.0);
      });
}

void add_play(OptionTable<Options>& table) {
  table.value("--policy", [](auto& o, auto&, auto v) { o.policy = policy_of(v); })
      .flag("--fallback", &Options::fallback)
      .value("--iteration-ms",
             [](auto& o, auto& n, auto v) {
               o.iteration = std::chrono::milliseconds(number(n, v, 0, 1000));
             })
      .value("--reclaim-at-mib",
             [](auto& o, auto& n, auto v) {
               o.reclaim_at_bytes = number<std::size_t>(n, v, 1, 1024) << 20;
             })
      .number("--reclaim-after", &Options::reclaim_after, 0.0, 1.0)
      .value("--timeout", [](auto& o, auto& n, auto v) {
        o.timeout = std::chrono::seconds(number(n, v, 1, 86'400));
      });
}

void add_roles(OptionTable<Options>& table) {
  table.value("--role", [](auto& o, auto&, auto v) { o.role = role_of(v); })
      .number("--index", &Options::index, 0U, 100U)
      .path("--directory", &Options::directory)
      .number("--parent", &Options::parent, 1, INT32_MAX);
}

}  // namespace

Options parse_options(std::span<const char* const> arguments) {
  OptionTable<Options> table;
  table.path("--json", &Options::json)
      .path("--coordinator-binary", &Options::coordinator)
      .flag("--help", &Options::help)
      .flag("-h", &Options::help);
  add_workload(table);
  add_play(table);
  add_roles(table);
  return table.parse(arguments);
}

std::string_view usage() {
  return R"(usage: elastic_offload [options]

Four emulated GPUs, an engine each, and a coordinator: six processes on this machine. Two
engines have memory to spare and lend it; two have caches too small for their load, and keep
the KV blocks of preempted sequences in the lent memory. Midway one lender wants its memory
back, gets it, and later lends it again. Every byte that moves is checked.

  --trace FILE             requests in the format of the Azure LLM inference traces
                           (default: made up in their shape)
  --requests N             how many of them, from the first on (240)
  --seed N                 of the made-up trace (1)
  --arrivals-in SECONDS    make them arrive in this time if they took longer (10)
  --output-scale X         multiply the number of output tokens (1)
  --policy NAME            who is computed, preempted and brought back: cfs, las, fcfs or vtc (cfs).
                           fcfs and vtc preempt for memory only; use --reclaim-at-mib 1 with them
  --fallback               cfs and las serve first come, first served while preempted KV is in host
                           memory, as the paper does (off: both are as fast on emulated GPUs)
  --iteration-ms MS        least time of a decoding step (10)
  --reclaim-after FRACTION of the requests that are done before memory is reclaimed (0.4) …
  --reclaim-at-mib MIB     … and how much of it must be in use, over both consumers (512)
  --json FILE              write the result
  --timeout SECONDS        give up (180)
  --coordinator-binary P   the aqua-coordinator program (default: of the same build)
  --help

Takes about 4 GiB of memory. The exit status is 0 only if no byte was wrong, and memory was
reclaimed and used again afterwards.
)";
}

}  // namespace aqua::example
