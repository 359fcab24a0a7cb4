// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/simulate_options.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/cli/simulate/check_pipelines.hpp"
#include "tools/report/text.hpp"

namespace aqua::tool {

namespace {

constexpr double kMostLentGb = 4000;  // 65,536 slabs of 64 MiB: what a ledger takes of a client

constexpr const char* kAbout =
    R"(Usage: aqua simulate --trace FILE [options]
       aqua simulate --calibrate FILE [--predict FILE,...] [--json]

Plays requests through a simulated engine once per policy and shows what users would feel.
Virtual time; the scheduler and the ledger are the library's own. docs/plan/simulation.md says
what is measured, scaled, quoted.)";

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("simulate: ", what)};
}
Error expected(const std::string& what) {
  return Error{Code::invalid_argument, concat("expected ", what)};
}

// SECONDS:GB,SECONDS:GB...
Result<void> set_lent_at(SimulateOptions& options, std::string_view value) {
  std::vector<std::string_view> changes;
  report::split_columns(value, changes);
  options.lent_changes.clear();
  for (const std::string_view change : changes) {
    const std::size_t colon = change.find(':');
    if (colon == change.npos) return expected("SECONDS:GB,...");
    AQUA_ASSIGN(const double at, parse_between<double>(change.substr(0, colon), 0, 1e6));
    AQUA_ASSIGN(const double gb, parse_between<double>(change.substr(colon + 1), 0, kMostLentGb));
    options.lent_changes.push_back({.at = sim::picos(at), .bytes = gb * 1e9});
  }
  return {};
}

// SECONDS:SHARE,SECONDS:SHARE...
Result<void> set_link_at(SimulateOptions& options, std::string_view value) {
  std::vector<std::string_view> changes;
  report::split_columns(value, changes);
  options.link_changes.clear();
  for (const std::string_view change : changes) {
    const std::size_t colon = change.find(':');
    if (colon == change.npos) return expected("SECONDS:SHARE,...");
    AQUA_ASSIGN(const double at, parse_between<double>(change.substr(0, colon), 0, 1e6));
    AQUA_ASSIGN(const double share, parse_between<double>(change.substr(colon + 1), 1e-3, 1));
    options.link_changes.push_back({.at = sim::picos(at), .share = share});
  }
  return {};
}

// auto, or layers over frames.
Result<void> set_expansion(SimulateOptions& options, std::string_view value) {
  options.expansion.reset();
  if (value == "auto") return {};
  AQUA_ASSIGN(options.expansion, parse_between<double>(value, 1, 100));
  return {};
}

Result<void> set_sla(SimulateOptions& options, std::string_view value) {
  const std::size_t comma = value.find(',');
  if (comma == value.npos) return expected("TTFT,TPOT");
  AQUA_ASSIGN(options.sla.ttft_s, parse_between<double>(value.substr(0, comma), 1e-6, 1e6));
  AQUA_ASSIGN(options.sla.tpot_s, parse_between<double>(value.substr(comma + 1), 1e-6, 1e6));
  return {};
}

Result<void> set_sweep(SimulateOptions& options, std::string_view value) {
  const std::size_t equals = value.find('=');
  if (equals == value.npos) return expected("NAME=V,V");
  SimulateOptions::Sweep sweep{.parameter = std::string(value.substr(0, equals)), .values = {}};
  std::vector<std::string_view> values;
  report::split_columns(value.substr(equals + 1), values);
  for (const std::string_view one : values) {
    SimulateOptions probe;
    AQUA_TRY(set_option(probe, sweep.parameter, one));
    sweep.values.emplace_back(one);
  }
  options.sweep = std::move(sweep);
  return {};
}

void add_requests(CommandLine& line, SimulateOptions& o) {
  line.group("What is asked")
      .text("--trace", o.trace, "FILE", "Azure, BurstGPT or lengths CSV, Mooncake JSON lines")
      .text("--lengths", o.lengths, "NAME",
            "sharegpt, alpaca: lengths drawn by the means that were published of them, in place of "
            "a trace")
      .choice(
          "--workload", o.workload,
          {{"trace", WorkloadKind::trace},
           {"poisson", WorkloadKind::poisson},
           {"burst", WorkloadKind::burst},
           {"prefix", WorkloadKind::prefix},
           {"long-prompt", WorkloadKind::long_prompt},
           {"elastic", WorkloadKind::elastic},
           {"pipeline", WorkloadKind::pipeline}},
          "NAME",
          "trace: as it came; poisson: its lengths at --rate; burst: the paper's burst; prefix: "
          "its long cached prompt; long-prompt: a context larger than the device; elastic: a "
          "lender whose load doubles; pipeline: machines in pipelines, all requests at once or at "
          "--rate")
      .number("--requests", o.requests, 1, 20'000'000, "N",
              "so many: a trace is repeated; default: all of it, or 300 drawn")
      .number("--rate", o.rate, 1e-6, 1e6, "R",
              "requests a second; default: the stable rate, looked for with fcfs")
      .number("--speed", o.speed, 1e-3, 1e3, "F", "the trace comes so many times faster")
      .number("--burst", o.burst, 1, 1000, "F", "times the rate in the burst")
      .number("--burst-seconds", o.burst_seconds, 0, 1e6, "S", "how long it lasts")
      .number("--quiet", o.quiet, 0, 1'000'000, "N", "requests before the burst")
      .number("--after", o.after, 0, 1'000'000, "N", "requests after it")
      .number("--seeds", o.seeds, 1, 1000, "N",
              "so many runs with other arrivals; means and 95 % confidence");
}

void add_engine(CommandLine& line, SimulateOptions& o) {
  line.group("Who serves")
      .text("--compare", o.compare, "P,P...",
            "fcfs, vtc, las, cfs, auto, each alone or with +dram, +aqua, +free; +aqua+blocks "
            "copies block by block; fcfs also with +recompute, +pie, +pie+aqua, +ondemand")
      .number(
          "--share", o.share, 2, 16, "N",
          "so many models of this kind share one GPU; compares temporal sharing, fixed parts of "
          "the multiprocessors, and parts by load")
      .number("--skew", o.skew, 0, 4, "A", "their popularity: model i in proportion to i^-A")
      .number("--share-seconds", o.share_seconds, 10, 1e6, "S",
              "how long requests come; at half time the order of popularity turns round")
      .choice("--interference", o.measured_interference, {{"assumed", false}, {"measured", true}},
              "NAME",
              "of engines side by side; assumed: they share the memory's bandwidth; measured: as "
              "green contexts of an H100 beside a loop that takes all of it, the worst case")
      .text("--model", o.model, "NAME|FILE", "a preset or a JSON file")
      .text("--server", o.server, "NAME|FILE", "a preset or a JSON file")
      .text("--borrower", o.borrower, "NAME|FILE",
            "elastic: whose long context lies with --model's engine")
      .number("--prompt", o.prompt, 1, 10'000'000, "N",
              "long-prompt, elastic: tokens of that context")
      .text("--show-preset", o.preset, "NAME", "print one and stop")
      .number("--tensor-parallel", o.tensor_parallel, 1, 64, "N", "GPUs of the engine")
      .text("--profiles", o.profiles, "DIR|off",
            "measured times; default: profiles in $AQUA_DATA. off: roofline alone")
      .number("--kv-tokens", o.kv_tokens, 32, 1e10, "N", "KV cache; default: what weights leave")
      .number("--lent-gb", o.lent_gb, 0, kMostLentGb, "G", "a neighbour's memory lent to each GPU")
      .number("--host-gb", o.host_gb, 0, 1e6, "G",
              "host memory for swapped KV, for each GPU: also for what is lent memory's just now, "
              "which must be able to come back; default: no end of it")
      .flag("--known-answers", o.known_answers,
            "auto is told how long each answer will be, not only the longest of all")
      .option(
          "--lent-at", "S:G,...",
          "from second S on it lends G instead: it takes the rest back, or offers more; sequences "
          "move off and back. Not with --prefix-cache",
          [&o](std::string_view value) { return set_lent_at(o, value); })
      .option(
          "--expansion", "auto|E",
          "+pie, +pie+aqua, +ondemand: layers over those that have room on the device; auto: as "
          "pie "
          "adapts, 2 on demand",
          [&o](std::string_view value) { return set_expansion(o, value); }, "auto")
      .option(
          "--link-at", "S:SHARE,...",
          "the same: from second S on others leave this share of the link over which layers travel",
          [&o](std::string_view value) { return set_link_at(o, value); })
      .number("--chunk", o.chunk, 2, 65536, "N", "tokens an iteration computes at most")
      .number("--slice", o.slice, 1, 1'000'000, "N", "iterations of a time slice")
      .flag("--prefix-cache", o.prefix_cache,
            "of traces with block hashes (Mooncake) and --workload prefix")
      .number("--prefix-gb", o.prefix_gb, 0, 1e6, "G",
              "what cached prefixes take at most, wherever they lie")
      .flag("--no-fallback", o.fallback, "cfs+aqua stays fair also when it must page to the host",
            false);
}

void add_report(CommandLine& line, SimulateOptions& o) {
  line.group(
          "How close it comes to an engine (examples/llama_cpp: llama_serve records), or a "
          "pipeline of "
          "processes (examples/pipeline --record)")
      .text("--calibrate", o.calibrate, "FILE",
            "fit costs to this recording and show them, and how far they are off")
      .text("--predict", o.predict, "FILE,...",
            "predict other recordings with them, and show measured beside predicted; of all other "
            "options only --json counts then");
  line.group("What is shown")
      .option(
          "--sla", "TTFT,TPOT", "seconds, for goodput",
          [&o](std::string_view value) { return set_sla(o, value); },
          concat(o.sla.ttft_s, ",", o.sla.tpot_s))
      .option("--sweep", "NAME=V,V...",
              "again for each value of kv-tokens, burst, rate, lent-gb, expansion, slice, chunk, "
              "seeds, machines",
              [&o](std::string_view value) { return set_sweep(o, value); })
      .flag("--json", o.json, "for scripts")
      .text("--csv", o.csv, "FILE", "a row per request")
      .text("--html", o.html, "FILE", "one page with plots")
      .flag("--no-progress", o.progress,
            "no bar (there is none either where stderr is no terminal)", false)
      .flag("--no-skip", o.skip, "iteration by iteration; the same figures, slower", false);
}

Result<void> check_packing(const SimulateOptions& options) {
  const bool drawn = options.workload == WorkloadKind::trace ||
                     options.workload == WorkloadKind::poisson ||
                     options.workload == WorkloadKind::burst;
  const SimulateOptions fresh;
  if (drawn && options.share == 0 && options.compare == fresh.compare && !options.sweep &&
      !options.prefix_cache && options.csv.empty() && options.lent_changes.empty() &&
      options.lent_gb == fresh.lent_gb && !options.host_gb && !options.known_answers &&
      !options.expansion && options.link_changes.empty()) {
    return {};
  }
  return bad(
      "--pack compares packers on --workload trace, poisson or burst: without --compare, --share, "
      "--sweep, --prefix-cache, --lent-gb, --host-gb, --known-answers, --lent-at, --expansion, "
      "--link-at and --csv");
}

Result<void> check(const SimulateOptions& options) {
  if (!options.predict.empty() && options.calibrate.empty()) {
    return bad("--predict wants the recording that costs are fitted to: --calibrate FILE");
  }
  if (!options.calibrate.empty()) return {};
  const bool own_prompts = options.workload == WorkloadKind::long_prompt;
  if (options.trace.empty() && options.lengths.empty() && !own_prompts && options.preset.empty()) {
    return bad("no requests: give --trace FILE, or --lengths NAME");
  }
  if (!options.trace.empty() && !options.lengths.empty()) {
    return bad("--trace and --lengths: one of them says what is asked");
  }
  AQUA_TRY(check_fleet(options.fleet));
  AQUA_TRY(check_pipelines(options));
  for (std::size_t i = 0; options.sweep && i < options.sweep->values.size(); ++i) {
    SimulateOptions one = options;
    AQUA_TRY(set_option(one, options.sweep->parameter, options.sweep->values[i]));
    AQUA_TRY(check_pipelines(one));
  }
  if (options.workload == WorkloadKind::pipeline) return {};
  const bool lending = own_prompts || options.workload == WorkloadKind::elastic;
  if (lending && (options.sweep || !options.csv.empty() || !options.html.empty())) {
    return bad("--workload long-prompt and elastic have a table and --json, nothing else");
  }
  if (!options.fleet.pack.empty()) return check_packing(options);
  const SimulateOptions fresh;
  if (lending &&
      (options.compare != fresh.compare || options.seeds != 1 || !options.lent_changes.empty() ||
       options.expansion || !options.link_changes.empty())) {
    return bad(
        "--workload long-prompt and elastic compare ways of their own, once: without --compare, "
        "--seeds, --lent-at, --expansion and --link-at");
  }
  const bool other_ways = options.workload != fresh.workload || options.compare != fresh.compare ||
                          !options.lent_changes.empty() || options.expansion ||
                          !options.link_changes.empty() || options.prefix_cache;
  if (options.share > 0 &&
      (other_ways || options.sweep || !options.csv.empty() || !options.html.empty())) {
    return bad(
        "--share compares ways of its own, in a table or --json: with --rate, --seeds, --skew and "
        "who serves, and nothing else");
  }
  if (options.measured_interference && options.share == 0) {
    return bad("--interference is of engines that share a GPU: give --share");
  }
  if (options.sweep && (!options.csv.empty() || !options.html.empty())) {
    return bad("--sweep has a table and --json; --csv and --html are of one run");
  }
  const auto policies = sim::parse_policies(options.compare);
  if (!policies.ok()) return bad(policies.error().message);
  const bool about_layers = options.expansion || !options.link_changes.empty() ||
                            (options.sweep && options.sweep->parameter == "expansion");
  const auto keeps_layers_away = [](const sim::PolicyName& policy) {
    return policy.layers != sim::LayerMode::stay;
  };
  if (about_layers && std::ranges::none_of(*policies, keeps_layers_away)) {
    return bad(
        "--expansion and --link-at are of layers that are away: --compare fcfs+pie, "
        "fcfs+pie+aqua or fcfs+ondemand");
  }
  return {};
}

}  // namespace

CommandLine simulate_line(SimulateOptions& options) {
  CommandLine line("simulate", kAbout);
  add_requests(line, options);
  add_engine(line, options);
  add_fleet(line, options.fleet);
  add_pipelines(line, options.pipelines);
  add_report(line, options);
  return line;
}

Result<void> set_option(SimulateOptions& options, std::string_view name, std::string_view value) {
  const std::string option = concat("--", name);
  return simulate_line(options).parse(std::array<std::string_view, 2>{option, value});
}

Result<SimulateOptions> parse_simulate(std::span<const std::string_view> arguments) {
  SimulateOptions options;
  if (const char* data = std::getenv("AQUA_DATA"); data != nullptr && *data != '\0') {
    options.profiles = concat(data, "/profiles");
  }
  AQUA_TRY(simulate_line(options).parse(arguments));
  if (options.profiles == "off") options.profiles.clear();
  AQUA_TRY(check(options));
  return options;
}

}  // namespace aqua::tool
