// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/simulate_options.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/report/text.hpp"

namespace aqua::tool {

namespace {

constexpr double kMostLentGb = 4000;  // 65,536 slabs of 64 MiB: what a ledger takes of a client

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("simulate: ", what)};
}

Result<double> number(std::string_view name, std::string_view text, double least, double most) {
  const auto value = sim::parse_number<double>(text);
  if (value && *value >= least && *value <= most) return *value;
  return bad(concat("--", name, " ", sim::shown(text), ": expected ", least, " to ", most));
}

template <typename T>
Result<void> whole(T& field, std::string_view name, std::string_view text, double least,
                   double most) {
  AQUA_ASSIGN(const double value, number(name, text, least, most));
  if (value != std::floor(value))
    return bad(concat("--", name, " ", sim::shown(text), ": not whole"));
  field = static_cast<T>(value);
  return {};
}

Result<void> set_workload(SimulateOptions& options, std::string_view value) {
  static const std::map<std::string_view, WorkloadKind> kinds{
      {"trace", WorkloadKind::trace},
      {"poisson", WorkloadKind::poisson},
      {"burst", WorkloadKind::burst},
      {"prefix", WorkloadKind::prefix},
      {"long-prompt", WorkloadKind::long_prompt},
      {"elastic", WorkloadKind::elastic}};
  const auto found = kinds.find(value);
  if (found == kinds.end()) {
    return bad(concat("--workload ", sim::shown(value),
                      ": expected trace, poisson, burst, prefix, long-prompt or elastic"));
  }
  options.workload = found->second;
  return {};
}

// SECONDS:GB,SECONDS:GB...
Result<void> set_lent_at(SimulateOptions& options, std::string_view value) {
  std::vector<std::string_view> changes;
  sim::split_columns(value, changes);
  options.lent_changes.clear();
  for (const std::string_view change : changes) {
    const std::size_t colon = change.find(':');
    if (colon == change.npos)
      return bad(concat("--lent-at ", sim::shown(change), ": expected SECONDS:GB"));
    AQUA_ASSIGN(const double at, number("lent-at", change.substr(0, colon), 0, 1e6));
    AQUA_ASSIGN(const double gb, number("lent-at", change.substr(colon + 1), 0, kMostLentGb));
    options.lent_changes.push_back({.at = sim::picos(at), .bytes = gb * 1e9});
  }
  return {};
}

Result<void> set_sla(SimulateOptions& options, std::string_view value) {
  const std::size_t comma = value.find(',');
  if (comma == value.npos) return bad(concat("--sla ", sim::shown(value), ": expected TTFT,TPOT"));
  AQUA_ASSIGN(options.sla.ttft_s, number("sla", value.substr(0, comma), 0, 1e6));
  AQUA_ASSIGN(options.sla.tpot_s, number("sla", value.substr(comma + 1), 0, 1e6));
  return {};
}

Result<void> set_sweep(SimulateOptions& options, std::string_view value) {
  const std::size_t equals = value.find('=');
  if (equals == value.npos)
    return bad(concat("--sweep ", sim::shown(value), ": expected NAME=V,V"));
  SimulateOptions::Sweep sweep{.parameter = std::string(value.substr(0, equals)), .values = {}};
  std::vector<std::string_view> values;
  sim::split_columns(value.substr(equals + 1), values);
  for (const std::string_view one : values) {
    SimulateOptions probe;
    AQUA_TRY(set_option(probe, sweep.parameter, one));
    sweep.values.emplace_back(one);
  }
  options.sweep = std::move(sweep);
  return {};
}

Result<void> set_number(SimulateOptions& o, std::string_view name, std::string_view value,
                        bool& known) {
  known = true;
  if (name == "requests") return whole(o.requests, name, value, 1, 2e7);
  if (name == "tensor-parallel") return whole(o.tensor_parallel, name, value, 1, 64);
  if (name == "quiet") return whole(o.quiet, name, value, 0, 1e6);
  if (name == "after") return whole(o.after, name, value, 0, 1e6);
  if (name == "chunk") return whole(o.chunk, name, value, 2, 65536);
  if (name == "slice") return whole(o.slice, name, value, 1, 1e6);
  if (name == "prompt") return whole(o.prompt, name, value, 1, 1e7);
  if (name == "seeds") return whole(o.seeds, name, value, 1, 1000);
  const auto set = [&](auto& field, double least, double most) -> Result<void> {
    AQUA_ASSIGN(field, number(name, value, least, most));
    return {};
  };
  if (name == "rate") return set(o.rate, 1e-6, 1e6);
  if (name == "burst") return set(o.burst, 1, 1000);
  if (name == "burst-seconds") return set(o.burst_seconds, 0, 1e6);
  if (name == "kv-tokens") return set(o.kv_tokens, 32, 1e10);
  if (name == "lent-gb") return set(o.lent_gb, 0, kMostLentGb);
  if (name == "prefix-gb") return set(o.prefix_gb, 0, 1e6);
  known = false;
  return {};
}

std::string* text_option(SimulateOptions& o, std::string_view name) {
  if (name == "trace") return &o.trace;
  if (name == "compare") return &o.compare;
  if (name == "model") return &o.model;
  if (name == "server") return &o.server;
  if (name == "borrower") return &o.borrower;
  if (name == "profiles") return &o.profiles;
  if (name == "csv") return &o.csv;
  if (name == "html") return &o.html;
  if (name == "show-preset") return &o.preset;
  if (name == "calibrate") return &o.calibrate;
  if (name == "predict") return &o.predict;
  return nullptr;
}

bool set_flag(SimulateOptions& o, std::string_view argument) {
  if (argument == "--json")
    o.json = true;
  else if (argument == "--no-skip")
    o.skip = false;
  else if (argument == "--no-fallback")
    o.fallback = false;
  else if (argument == "--prefix-cache")
    o.prefix_cache = true;
  else if (argument == "--no-progress")
    o.progress = false;
  else
    return false;
  return true;
}

Result<void> check(const SimulateOptions& options) {
  if (!options.predict.empty() && options.calibrate.empty()) {
    return bad("--predict wants the recording that costs are fitted to: --calibrate FILE");
  }
  if (!options.calibrate.empty()) return {};
  const bool own_prompts = options.workload == WorkloadKind::long_prompt;
  if (options.trace.empty() && !own_prompts && options.preset.empty()) {
    return bad("no requests: give --trace FILE");
  }
  const bool lending = own_prompts || options.workload == WorkloadKind::elastic;
  if (lending && (options.sweep || !options.csv.empty() || !options.html.empty())) {
    return bad("--workload long-prompt and elastic have a table and --json, nothing else");
  }
  const SimulateOptions fresh;
  if (lending &&
      (options.compare != fresh.compare || options.seeds != 1 || !options.lent_changes.empty())) {
    return bad(
        "--workload long-prompt and elastic compare ways of their own, once: without --compare, "
        "--seeds and --lent-at");
  }
  if (options.sweep && (!options.csv.empty() || !options.html.empty())) {
    return bad("--sweep has a table and --json; --csv and --html are of one run");
  }
  return sim::parse_policies(options.compare).ok()
             ? Result<void>{}
             : bad(sim::parse_policies(options.compare).error().message);
}

}  // namespace

Result<void> set_option(SimulateOptions& options, std::string_view name, std::string_view value) {
  bool known = false;
  AQUA_TRY(set_number(options, name, value, known));
  if (known) return {};
  if (name == "workload") return set_workload(options, value);
  if (name == "sla") return set_sla(options, value);
  if (name == "lent-at") return set_lent_at(options, value);
  if (name == "sweep") return set_sweep(options, value);
  if (std::string* text = text_option(options, name); text != nullptr) {
    *text = value;
    return {};
  }
  return bad(
      concat("unknown argument ", sim::shown(concat("--", name)), "; see aqua simulate --help"));
}

Result<SimulateOptions> parse_simulate(std::span<const std::string_view> arguments) {
  SimulateOptions options;
  if (const char* data = std::getenv("AQUA_DATA"); data != nullptr && *data != '\0') {
    options.profiles = concat(data, "/profiles");
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (set_flag(options, arguments[i])) continue;
    if (!arguments[i].starts_with("--")) {
      return bad(concat("unknown argument ", sim::shown(arguments[i])));
    }
    const std::string_view name = arguments[i].substr(2);
    if (i + 1 == arguments.size()) return bad(concat("--", name, " needs a value"));
    AQUA_TRY(set_option(options, name, arguments[++i]));
  }
  if (options.profiles == "off") options.profiles.clear();
  AQUA_TRY(check(options));
  return options;
}

}  // namespace aqua::tool
