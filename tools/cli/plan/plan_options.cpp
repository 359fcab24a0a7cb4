// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/plan/plan_options.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/cli/simulate/pipeline_options.hpp"
#include "tools/report/text.hpp"

namespace aqua::tool {
namespace {

constexpr std::uint32_t kMostMicrobatch = 1024;

constexpr const char* kAbout =
    R"(Usage: aqua plan --trace FILE --model NAME --server NAME --machines D [options]

How D machines serve a model: one pipeline, several, or prefill and decode apart. Every split is
tried under the memory of a machine, by times of a cost model or your own; the best of each policy
is simulated beside. docs/plan/pipelines.md says what is counted.)";

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("plan: ", what)};
}

// N, N,N... or N..N.
Result<void> set_sweep(PlanOptions& options, std::string_view value) {
  constexpr std::string_view kName = "machines=";
  if (!value.starts_with(kName))
    return Error{Code::invalid_argument, "expected machines=N,N... or machines=N..N"};
  value.remove_prefix(kName.size());
  const auto number = [](std::string_view text) {
    return parse_between<std::uint32_t>(text, 1, kv_stream::kMostMachines);
  };
  options.machines.clear();
  options.sweep = true;
  if (const std::size_t dots = value.find(".."); dots != value.npos) {
    AQUA_ASSIGN(const std::uint32_t from, number(value.substr(0, dots)));
    AQUA_ASSIGN(const std::uint32_t to, number(value.substr(dots + 2)));
    for (std::uint32_t n = from; n <= to; ++n) options.machines.push_back(n);
    if (from <= to) return {};
    return Error{Code::invalid_argument, concat("from ", from, " to ", to, " there is nothing")};
  }
  std::vector<std::string_view> all;
  report::split_columns(value, all);
  for (const std::string_view one : all) {
    AQUA_ASSIGN(const std::uint32_t n, number(one));
    options.machines.push_back(n);
  }
  return {};
}

Result<void> set_microbatches(PlanOptions& options, std::string_view value) {
  AQUA_ASSIGN(options.microbatches, parse_microbatches(value, kMostMicrobatch));
  return {};
}

// B:Y:T,...
Result<void> set_times(PlanOptions& options, std::string_view value) {
  std::vector<std::string_view> all;
  report::split_columns(value, all);
  options.times.clear();
  for (const std::string_view one : all) {
    const std::size_t first = one.find(':'), last = one.rfind(':');
    if (first == one.npos || first == last)
      return Error{Code::invalid_argument, "expected B:Y:T,..., requests and seconds"};
    kv_stream::MicrobatchCost cost;
    AQUA_ASSIGN(cost.requests,
                parse_between<std::uint32_t>(one.substr(0, first), 1, kMostMicrobatch));
    const auto known =
        std::ranges::find(options.times, cost.requests, &kv_stream::MicrobatchCost::requests);
    if (known != options.times.end()) {
      return Error{Code::invalid_argument,
                   concat("a microbatch of ", cost.requests, " is named twice")};
    }
    AQUA_ASSIGN(cost.prompt_seconds,
                parse_between<double>(one.substr(first + 1, last - first - 1), 1e-9, 1e6));
    AQUA_ASSIGN(cost.token_seconds, parse_between<double>(one.substr(last + 1), 1e-9, 1e6));
    options.times.push_back(cost);
  }
  return {};
}

}  // namespace

CommandLine plan_line(PlanOptions& o) {
  CommandLine line("plan", kAbout);
  line.group("What is asked")
      .text("--trace", o.trace, "FILE", "Azure, BurstGPT or lengths CSV, Mooncake JSON lines")
      .text("--lengths", o.lengths, "NAME", "sharegpt, alpaca: by published means, without a trace")
      .number("--prompt", o.prompt, 0, 1'000'000, "N",
              "tokens of every prompt, as in the paper; 0: as in the trace")
      .number("--context", o.context, 2, 1'000'000, "N",
              "longer requests are left out; memory is for the longest of the others")
      .number("--requests", o.requests, 0, 1'000'000'000, "N",
              "that come at once, so that filling and draining pipelines counts; 0: always enough; "
              "default: as many as the trace has, and 0 with --lengths");
  line.group("Who serves")
      .text("--model", o.model, "NAME|FILE", "a preset or a JSON file")
      .text("--server", o.server, "NAME|FILE",
            "a machine, with its network: a100x2, a100x4, v100x4")
      .number("--machines", o.machines.front(), 1, kv_stream::kMostMachines, "D", "of this kind")
      .option(
          "--microbatches", "B,B...", "requests of a microbatch, to choose from",
          [&o](std::string_view value) { return set_microbatches(o, value); }, "1,2,4,8,16,32")
      .option(
          "--times", "B:Y:T,...",
          "your own: seconds of a prompt and of a token of microbatches of B through all layers; "
          "default: by the cost model",
          [&o](std::string_view value) { return set_times(o, value); })
      .text("--profiles", o.profiles, "DIR|off",
            "measured times; default: profiles in $AQUA_DATA. off: roofline alone")
      .number("--stream-overhead", o.stream_overhead, 1, 100, "M",
              "so many times as long takes a prompt whose KV is streamed away")
      .choice("--swap", o.swap,
              {{"never", sim::Swapping::never},
               {"may", sim::Swapping::may},
               {"must", sim::Swapping::must}},
              "NAME",
              "KV of microbatches that are not computed is in host memory: may, where that is "
              "faster; must, in every pipeline of two stages or more")
      .number("--swap-lent-gb", o.swap_lent_gb, 0, 1e6, "GB",
              "that neighbours lend each machine, for what is swapped, before host memory")
      .number("--price", o.price, 0, 1e6, "P", "of a machine and hour; 0: machine hours");
  line.group("What is shown")
      .option("--sweep", "machines=N..N", "again for each number, or of machines=N,N",
              [&o](std::string_view value) { return set_sweep(o, value); })
      .flag("--explain", o.explain, "every split, and why it lost")
      .number("--simulated", o.simulated, 2, 1'000'000, "N",
              "requests that are simulated with the best of each policy, if so many come")
      .flag("--json", o.json, "for scripts");
  return line;
}

Result<PlanOptions> parse_plan(std::span<const std::string_view> arguments) {
  PlanOptions options;
  if (const char* data = std::getenv("AQUA_DATA"); data != nullptr && *data != '\0') {
    options.profiles = concat(data, "/profiles");
  }
  AQUA_TRY(plan_line(options).parse(arguments));
  if (options.profiles == "off") options.profiles.clear();
  if (options.trace.empty() == options.lengths.empty()) {
    return bad("requests come from one of --trace FILE and --lengths NAME");
  }
  if (options.requests == 1) {
    return bad(
        "--requests 1 shows nothing of pipelines: at least 2, or 0 where there are always enough");
  }
  if (options.swap_lent_gb > 0 && options.swap == sim::Swapping::never)
    return bad("--swap-lent-gb is where swapped KV is: not with --swap never");
  if (options.explain && options.sweep) return bad("--explain is of one number of machines");
  return options;
}

}  // namespace aqua::tool
