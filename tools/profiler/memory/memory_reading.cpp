// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/memory/memory_reading.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "aqua/northbound/load_metrics.hpp"
#include "base/concat.hpp"
#include "base/shallow_json.hpp"
#include "base/try.hpp"
#include "northbound/profile_fields.hpp"
#include "tools/http/metrics_text.hpp"
#include "tools/report/text.hpp"

namespace aqua::profiler {
namespace {

using Json = nlohmann::json;
using http::find_metric, http::metric_sum, http::MetricSample;

Error untrue(const std::string& what) {
  return Error{Code::data_loss, concat("the engine's figures cannot be true: ", what)};
}

Error missing(const std::string& what) {
  return Error{Code::failed_precondition, what};
}

constexpr std::array<std::pair<MemorySource, std::string_view>, 6> kNames{
    {{MemorySource::automatic, "auto"},
     {MemorySource::vllm, "vllm"},
     {MemorySource::llama, "llama"},
     {MemorySource::prometheus, "prometheus"},
     {MemorySource::aqua, "aqua"},
     {MemorySource::client, "client"}}};

Result<MemoryReading> checked(double used, double total) {
  if (!(used >= 0 && used <= total && total > 0 && total <= profile::kMostBytes)) {
    return untrue(concat(used, " bytes used of ", total));
  }
  return MemoryReading{used, total};
}

// A label of a metric, as a number.
std::optional<double> label(const MetricSample& sample, const std::string& name) {
  const auto found = sample.labels.find(name);
  return found == sample.labels.end() ? std::nullopt : report::parse_number<double>(found->second);
}

std::string engine_of(const MetricSample& sample) {
  const auto found = sample.labels.find("engine");
  return found == sample.labels.end() ? "" : found->second;
}

// Bytes of the pools that --kv-bytes does not tell, by engine: a data-parallel vLLM has several.
Result<std::map<std::string, double>> vllm_pools(std::string_view metrics,
                                                 const MemoryOptions& options) {
  const auto configs = find_metric(metrics, "vllm:cache_config_info");
  if (configs.empty()) return missing("/metrics has no vllm:cache_config_info: give --kv-bytes");
  if (options.bytes_per_token <= 0)
    return missing("vLLM does not tell how large a block is: give --bytes-per-token or --kv-bytes");
  std::map<std::string, double> pools;
  for (const MetricSample& config : configs) {
    const auto blocks = label(config, "num_gpu_blocks");
    const auto tokens = label(config, "block_size");
    if (!blocks || !tokens || !(*blocks > 0) || !(*tokens > 0)) {
      return untrue("vllm:cache_config_info has no num_gpu_blocks and block_size above 0");
    }
    pools[engine_of(config)] = *blocks * *tokens * options.bytes_per_token;
  }
  return pools;
}

// By each engine's share of its own pool; one engine needs no name.
Result<MemoryReading> vllm_sum(const std::vector<MetricSample>& shares,
                               const std::map<std::string, double>& pools) {
  if (shares.size() != pools.size()) {
    return missing(concat("/metrics has the KV usage of ", shares.size(),
                          " engines and the pools of ", pools.size(),
                          ": give --kv-bytes, of all of them together"));
  }
  double used = 0, total = 0;
  for (const MetricSample& share : shares) {
    const auto named = pools.find(engine_of(share));
    if (named == pools.end() && pools.size() > 1)
      return missing("/metrics names its engines differently: give --kv-bytes, of all together");
    const double pool = named == pools.end() ? pools.begin()->second : named->second;
    used += share.value * pool;
    total += pool;
  }
  return checked(std::min(used, total), total);
}

double count(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : -1;
}

// Tokens that a computing slot holds: as it says, else all it can.
double slot_tokens(const Json& slot, double most) {
  if (const double past = count(slot, "n_past"); past >= 0) return past;
  const double prompt = count(slot, "n_prompt_tokens");
  if (prompt < 0) return most;
  const auto next = slot.find("next_token");
  const Json* state = next == slot.end() ? &slot : &*next;
  if (state->is_array() && !state->empty()) state = &state->front();
  const double decoded = state->is_object() ? count(*state, "n_decoded") : -1;
  return prompt + std::max(0.0, decoded);
}

}  // namespace

std::string_view to_string(MemorySource source) noexcept {
  for (const auto& [known, name] : kNames) {
    if (known == source) return name;
  }
  return "auto";
}

Result<MemorySource> parse_memory_source(std::string_view name) {
  for (const auto& [source, known] : kNames) {
    if (known == name) return source;
  }
  return Error{Code::invalid_argument,
               concat("memory ", report::shown(name),
                      ": expected auto, vllm, llama, prometheus, aqua or client")};
}

Result<MemoryReading> read_vllm(std::string_view metrics, const MemoryOptions& options) {
  std::map<std::string, double> pools;
  if (options.kv_bytes <= 0) {
    AQUA_ASSIGN(pools, vllm_pools(metrics, options));
  }
  for (const char* name : {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"}) {
    const auto shares = find_metric(metrics, name);
    if (shares.empty()) continue;
    double sum = 0;
    for (const MetricSample& share : shares) {  // 1 is all of it, whatever the name says
      if (!(share.value >= 0 && share.value <= 1)) return untrue(concat(name, " is ", share.value));
      sum += share.value;
    }
    if (options.kv_bytes <= 0) return vllm_sum(shares, pools);
    const double mean = sum / static_cast<double>(shares.size());
    return checked(mean * options.kv_bytes, options.kv_bytes);
  }
  return missing("/metrics has no vllm:kv_cache_usage_perc");
}

Result<MemoryReading> read_llama(std::string_view props, std::string_view slots,
                                 const MemoryOptions& options) {
  if (options.bytes_per_token <= 0)
    return missing("llama.cpp does not tell how large a token's KV is: give --bytes-per-token");
  const Json properties = parse_shallow(props);
  const Json list = parse_shallow(slots);
  if (!properties.is_object() || !list.is_array()) {
    return missing("/props and /slots are not llama.cpp's (is its server started with --slots?)");
  }
  double used = 0, total = 0;
  for (const Json& slot : list) {
    if (!slot.is_object()) return untrue("/slots lists what is no slot");
    const double most = count(slot, "n_ctx");
    if (!(most > 0)) return untrue("a slot without n_ctx");
    total += most;
    const auto busy = slot.find("is_processing");
    if (busy == slot.end() || !busy->is_boolean()) return untrue("a slot without is_processing");
    if (busy->get<bool>()) used += std::min(most, slot_tokens(slot, most));
  }
  const double told = count(properties, "total_slots");
  if (told >= 0 && told != static_cast<double>(list.size()))
    return untrue(concat("/props has ", told, " slots, /slots ", list.size()));
  const double pool = options.kv_bytes > 0 ? options.kv_bytes : total * options.bytes_per_token;
  return checked(used * options.bytes_per_token, pool);
}

Result<MemoryReading> read_prometheus(std::string_view metrics, const MemoryOptions& options) {
  if (options.used_metric.empty()) return missing("--memory prometheus needs --used-metric NAME");
  const auto used = metric_sum(metrics, options.used_metric);
  if (!used) return missing(concat("/metrics has no finite ", report::shown(options.used_metric)));
  if (options.total_metric.empty()) {
    if (options.kv_bytes <= 0) return missing("give --total-metric NAME or --kv-bytes");
    return checked(*used, options.kv_bytes);
  }
  const auto total = metric_sum(metrics, options.total_metric);
  if (!total)
    return missing(concat("/metrics has no finite ", report::shown(options.total_metric)));
  return checked(*used, *total);
}

Result<MemoryReading> read_load_reports(std::string_view metrics, MemoryOptions options) {
  options.used_metric = kMetricKvUsed;
  options.total_metric = options.kv_bytes > 0 ? "" : kMetricKvTotal;
  return read_prometheus(metrics, options);
}

}  // namespace aqua::profiler
