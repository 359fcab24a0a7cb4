// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/profile/profile_setup.hpp"

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/concat.hpp"
#include "base/read_file.hpp"
#include "base/try.hpp"
#include "tools/http/engine_answer.hpp"
#include "tools/profiler/memory/swap_needs.hpp"
#include "tools/profiler/search/picture.hpp"
#include "tools/report/text.hpp"

namespace aqua::tool {
namespace {

std::map<std::string, std::string> settings_of(const ProfileOptions& o,
                                               const profiler::MemoryOptions& memory) {
  std::string bursts;
  for (const double factor : o.bursts) bursts += concat(bursts.empty() ? "" : ",", factor);
  const auto shown = [](const auto& value) { return concat(std::setprecision(15), value); };
  if (o.kind != ProfileKind::llm) {
    return {{"kind", o.kind == ProfileKind::image ? "image" : "audio"},
            {"path", o.path},
            {"body", o.body},
            {"most-batch", shown(o.most_batch)},
            {"speed", shown(o.speed)},
            {"used-metric", memory.used_metric},
            {"total-metric", memory.total_metric},
            {"memory", std::string(to_string(memory.source))},
            {"kv-bytes", shown(memory.kv_bytes)}};
  }
  return {{"kind", "llm"},
          {"trace", o.trace},
          {"from", shown(o.range.from)},
          {"to", shown(o.range.to)},
          {"step", shown(o.range.step)},
          {"sla", concat(shown(o.sla.ttft_s), ",", shown(o.sla.tbt_s))},
          {"requests", shown(o.requests)},
          {"context", shown(o.context)},
          {"chunk", shown(o.chunk)},
          {"seed", shown(o.seed)},
          {"speed", shown(o.speed)},
          {"bursts", bursts},
          {"burst-seconds", shown(o.burst_seconds)},
          {"used-metric", memory.used_metric},
          {"total-metric", memory.total_metric},
          {"memory", std::string(to_string(memory.source))},
          {"kv-bytes", shown(memory.kv_bytes)},
          {"bytes-per-token", shown(memory.bytes_per_token)}};
}

std::string item_body(const ProfileOptions& options, const std::string& model) {
  if (options.kind == ProfileKind::image) {
    return nlohmann::json{{"model", model}, {"prompt", "a lighthouse in a storm"}, {"n", 1}}.dump();
  }
  return nlohmann::json{{"model", model},
                        {"input", "The quick brown fox jumps over the lazy dog."},
                        {"voice", "alloy"}}
      .dump();
}

Result<void> same_settings(const profiler::Record& record,
                           const std::map<std::string, std::string>& wanted) {
  for (const auto& [key, value] : wanted) {
    const auto found = record.evidence.settings.find(key);
    const std::string had = found == record.evidence.settings.end() ? "" : found->second;
    if (had == value) continue;
    return Error{Code::failed_precondition,
                 concat("profile: cannot resume: the file was made with --", key, " '", had,
                        "', not '", value, "'")};
  }
  return {};
}

}  // namespace

Result<profiler::EngineLink> link_of(ProfileOptions& options, const std::stop_token& stop) {
  profiler::EngineLink engine{.model = options.model, .speed = options.speed};
  AQUA_ASSIGN(engine.url, http::parse_url(options.url));
  engine.http.url = options.url;
  engine.http.timeout = options.timeout;
  engine.http.stop = stop;
  if (const char* key = std::getenv("OPENAI_API_KEY"); key != nullptr) engine.http.api_key = key;
  if (!engine.model.empty() && options.context > 0) return engine;
  const auto models = profiler::fetch(engine, "/v1/models");
  if (!models.ok()) {
    return Error{models.error().code, concat("profile: ", models.error().message)};
  }
  AQUA_ASSIGN(const http::ModelInfo info, http::parse_models(*models));
  if (engine.model.empty()) engine.model = info.id;
  if (options.context == 0) options.context = info.max_tokens;
  return engine;
}

Result<profiler::ProberOptions> prober_of(const ProfileOptions& options,
                                          const profiler::EngineLink& engine) {
  profiler::ProberOptions prober{.sla = options.sla,
                                 .requests = options.requests,
                                 .burst_seconds = options.burst_seconds,
                                 .memory = options.memory};
  if (options.context > 0) prober.limits.max_tokens = options.context;
  prober.memory.source = profiler::detect_memory(engine, options.memory);
  AQUA_TRY(profiler::read_memory(engine, prober.memory));
  const bool counted = prober.memory.source == profiler::MemorySource::client;
  if (counted && options.kind == ProfileKind::llm && prober.memory.bytes_per_token <= 0) {
    return Error{Code::failed_precondition,
                 "this engine tells nothing of its KV memory: give --kv-bytes and "
                 "--bytes-per-token, and it is counted from the requests in flight"};
  }
  if (counted && options.kind != ProfileKind::llm) {
    return Error{Code::failed_precondition,
                 "this engine tells nothing of its memory: give --memory prometheus with "
                 "--used-metric"};
  }
  if (options.kind == ProfileKind::llm) return prober;
  const bool image = options.kind == ProfileKind::image;
  const char* usual = image ? "/v1/images/generations" : "/v1/audio/speech";
  prober.item_path = options.path.empty() ? usual : options.path;
  prober.item_body = item_body(options, engine.model);
  if (!options.body.empty()) {
    AQUA_ASSIGN(prober.item_body, read_file(options.body));
  }
  return prober;
}

Result<profiler::Record> record_of(const ProfileOptions& options,
                                   const profiler::EngineLink& engine,
                                   const profiler::ProberOptions& prober) {
  auto settings = settings_of(options, prober.memory);
  settings["model"] = engine.model;
  profiler::Record record;
  if (options.resume) {
    AQUA_ASSIGN(const std::string text, read_file(options.out));
    AQUA_ASSIGN(record, profiler::parse_record(text));
    AQUA_TRY(same_settings(record, settings));
    return record;
  }
  record.profile.complete = false;
  record.evidence.engine = options.url;
  record.evidence.model = engine.model;
  record.evidence.memory = to_string(prober.memory.source);
  record.evidence.settings = std::move(settings);
  return record;
}

void size_swap(profiler::Record& record, const ProfileOptions& options, const sim::Trace& trace,
               double pool_bytes) {
  std::uint64_t longest = 0;
  for (const sim::TraceRequest& request : trace.requests)
    longest = std::max<std::uint64_t>(longest, request.prompt_tokens);
  const double token = options.memory.bytes_per_token;
  record.evidence.prefix_swap_bytes =
      profiler::prefix_swap_bytes(options.prefix_prompts, longest, token);
  record.evidence.long_prompt_swap_bytes =
      profiler::long_prompt_swap_bytes(options.long_prompt, token, pool_bytes);
}

std::string summary(const profiler::Record& record, const ProfileOptions& options) {
  const Profile& profile = record.profile;
  const auto gigabytes = [](std::size_t bytes) { return static_cast<double>(bytes) / 1e9; };
  std::ostringstream out;
  out << profiler::verdict(record) << "\n"
      << std::setprecision(4) << "  role        " << to_string(profile.role) << "\n"
      << "  sustains    " << profile.max_rps
      << (record.evidence.batches.empty() ? " requests/s" : " items/s") << "\n"
      << "  memory      " << gigabytes(profile.free_bytes) << " of " << gigabytes(profile.kv_bytes)
      << " GB free then (a producer has " << gigabytes(profile.threshold_bytes) << ")\n"
      << "  swap space  " << gigabytes(profile.swap_bytes) << " GB wanted\n";
  for (const auto& [about, warning] : record.evidence.warnings)
    out << "  note: " << warning << "\n";
  out << "  written to " << options.out << "\n";
  return std::move(out).str();
}

}  // namespace aqua::tool
