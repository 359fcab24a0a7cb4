// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/profile/profile_options.hpp"

#include <cmath>
#include <initializer_list>
#include <map>
#include <optional>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/profiler/load/door.hpp"
#include "tools/report/text.hpp"

namespace aqua::tool {
namespace {

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("profile: ", what)};
}

Result<double> number(std::string_view name, std::string_view text, double least, double most) {
  const auto value = sim::parse_number<double>(text);
  if (value && *value >= least && *value <= most) return *value;
  return bad(concat("--", name, " ", sim::shown(text), ": expected ", least, " to ", most));
}

template <typename Number>
struct NumberOption {
  std::string_view name;
  Number* field;
  double least, most;
};

template <typename Number>
std::optional<NumberOption<Number>> named(std::initializer_list<NumberOption<Number>> known,
                                          std::string_view name) {
  for (const NumberOption<Number>& one : known) {
    if (one.name == name) return one;
  }
  return std::nullopt;
}

std::optional<NumberOption<double>> number_option(ProfileOptions& o, std::string_view name) {
  const std::initializer_list<NumberOption<double>> known{
      {"from", &o.range.from, 1e-6, 1e6},
      {"to", &o.range.to, 1e-6, 1e6},
      {"step", &o.range.step, 1e-6, 1e6},
      {"speed", &o.speed, 1e-3, 1e4},
      {"threshold-gb", &o.threshold_gb, 0, 1e6},
      {"burst-seconds", &o.burst_seconds, 1, 1e5},
      {"kv-bytes", &o.memory.kv_bytes, 1, 1e15},
      {"bytes-per-token", &o.memory.bytes_per_token, 1, 1e9}};
  return named(known, name);
}

std::optional<NumberOption<std::uint64_t>> count_option(ProfileOptions& o, std::string_view name) {
  const std::initializer_list<NumberOption<std::uint64_t>> known{
      {"requests", &o.requests, 10, 50'000},
      {"seed", &o.seed, 0, 4e6},
      {"context", &o.context, 2, 1e9},
      {"chunk", &o.chunk, 1, 1e6},
      {"prefix-prompts", &o.prefix_prompts, 0, 1e9},
      {"long-prompt", &o.long_prompt, 0, 1e9},
      {"most-batch", &o.most_batch, 1, 1024}};
  return named(known, name);
}

std::string* text_option(ProfileOptions& o, std::string_view name) {
  const std::map<std::string_view, std::string*> known{{"url", &o.url},
                                                       {"json", &o.json},
                                                       {"html", &o.html},
                                                       {"trace", &o.trace},
                                                       {"model", &o.model},
                                                       {"path", &o.path},
                                                       {"body", &o.body},
                                                       {"used-metric", &o.memory.used_metric},
                                                       {"total-metric", &o.memory.total_metric}};
  const auto found = known.find(name);
  return found == known.end() ? nullptr : found->second;
}

Result<void> set_kind(ProfileOptions& options, std::string_view value) {
  static const std::map<std::string_view, ProfileKind> kinds{
      {"llm", ProfileKind::llm}, {"image", ProfileKind::image}, {"audio", ProfileKind::audio}};
  const auto found = kinds.find(value);
  if (found == kinds.end())
    return bad(concat("--kind ", sim::shown(value), ": expected llm, image or audio"));
  options.kind = found->second;
  return {};
}

Result<void> set_sla(ProfileOptions& options, std::string_view value) {
  const std::size_t comma = value.find(',');
  if (comma == value.npos) return bad(concat("--sla ", sim::shown(value), ": expected TTFT,TBT"));
  AQUA_ASSIGN(options.sla.ttft_s, number("sla", value.substr(0, comma), 1e-6, 1e6));
  AQUA_ASSIGN(options.sla.tbt_s, number("sla", value.substr(comma + 1), 1e-6, 1e6));
  return {};
}

Result<void> set_bursts(ProfileOptions& options, std::string_view value) {
  options.bursts.clear();
  if (value == "off") return {};
  std::vector<std::string_view> factors;
  sim::split_columns(value, factors);
  for (const std::string_view factor : factors) {
    AQUA_ASSIGN(const double wanted, number("bursts", factor, 1, 100));
    options.bursts.push_back(wanted);
  }
  return {};
}

Result<void> set_option(ProfileOptions& options, std::string_view name, std::string_view value) {
  if (const auto known = number_option(options, name)) {
    AQUA_ASSIGN(*known->field, number(name, value, known->least, known->most));
    return {};
  }
  if (const auto known = count_option(options, name)) {
    AQUA_ASSIGN(const double count, number(name, value, known->least, known->most));
    if (count != std::floor(count)) return bad(concat("--", name, ": not whole"));
    *known->field = static_cast<std::uint64_t>(count);
    return {};
  }
  if (std::string* text = text_option(options, name); text != nullptr) {
    *text = value;
    return {};
  }
  if (name == "kind") return set_kind(options, value);
  if (name == "sla") return set_sla(options, value);
  if (name == "bursts") return set_bursts(options, value);
  if (name == "memory") {
    AQUA_ASSIGN(options.memory.source, profiler::parse_memory_source(value));
    return {};
  }
  if (name == "timeout") {
    AQUA_ASSIGN(const double seconds, number(name, value, 1, 3600));
    options.timeout = std::chrono::seconds(static_cast<std::int64_t>(seconds));
    return {};
  }
  return bad(
      concat("unknown argument ", sim::shown(concat("--", name)), "; see aqua profile --help"));
}

Result<void> check(const ProfileOptions& options) {
  if (options.url.empty()) return bad("--url URL is missing: which engine?");
  if (options.json.empty()) return bad("--json FILE is missing: where is the profile to go?");
  AQUA_TRY(profiler::parse_url(options.url));
  if (options.kind == ProfileKind::llm && options.trace.empty())
    return bad("--trace FILE is missing: lengths are drawn from it");
  AQUA_TRY(profiler::RateSearch::create(options.range));
  const bool sized = options.prefix_prompts > 0 || options.long_prompt > 0;
  if (sized && options.memory.bytes_per_token <= 0)
    return bad("--prefix-prompts and --long-prompt need --bytes-per-token");
  return {};
}

}  // namespace

Result<ProfileOptions> parse_profile_options(std::span<const std::string_view> arguments) {
  ProfileOptions options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--resume") options.resume = true;
    if (argument == "--no-progress") options.progress = false;
    if (argument == "--resume" || argument == "--no-progress") continue;
    if (!argument.starts_with("--")) return bad(concat("unknown argument ", sim::shown(argument)));
    const std::string_view name = argument.substr(2);
    if (i + 1 == arguments.size()) return bad(concat("--", name, " needs a value"));
    AQUA_TRY(set_option(options, name, arguments[++i]));
  }
  AQUA_TRY(check(options));
  return options;
}

}  // namespace aqua::tool
