#include "profiler/record.hpp"

#include "base/try.hpp"
#include "profile/fields.hpp"

namespace aqua::profiler {
namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;

constexpr double kMost = 1e18;

struct ProbeField {
  const char* name;
  double Probe::*field;
};
constexpr ProbeField kProbeFields[]{{"rate", &Probe::rate},
                                    {"peak_bytes", &Probe::peak_bytes},
                                    {"client_bytes", &Probe::client_bytes},
                                    {"pool_bytes", &Probe::pool_bytes},
                                    {"queue_length", &Probe::queue_length},
                                    {"seconds", &Probe::seconds},
                                    {"lateness_s", &Probe::lateness_s}};
struct QuantileField {
  const char* name;
  double Quantiles::*field;
};
constexpr QuantileField kQuantileFields[]{{"ttft_p50_s", &Quantiles::ttft_p50_s},
                                          {"ttft_s", &Quantiles::ttft_s},
                                          {"tbt_p50_s", &Quantiles::tbt_p50_s},
                                          {"tbt_s", &Quantiles::tbt_s}};
struct CountField {
  const char* name;
  std::size_t Probe::*field;
};
constexpr CountField kCountFields[]{
    {"requests", &Probe::requests}, {"answered", &Probe::answered}, {"failures", &Probe::failures}};

Ordered write(const Probe& probe) {
  Ordered json;
  for (const auto& [name, field] : kProbeFields) json[name] = probe.*field;
  for (const auto& [name, field] : kQuantileFields) json[name] = probe.quantiles.*field;
  for (const auto& [name, field] : kCountFields) json[name] = probe.*field;
  json["seed"] = probe.seed;
  json["met"] = probe.met;
  json["whole"] = probe.whole;
  return json;
}

void read(JsonObject& object, Probe& probe) {
  for (const auto& [name, field] : kProbeFields) probe.*field = object.number(name, 0, kMost);
  for (const auto& [name, field] : kQuantileFields)
    probe.quantiles.*field = object.number(name, 0, kMost);
  for (const auto& [name, field] : kCountFields) probe.*field = object.count(name, 0, UINT32_MAX);
  probe.seed = object.count("seed", 0, UINT32_MAX);
  probe.met = object.flag_or("met", false);
  probe.whole = object.flag_or("whole", false);
}

Ordered write(const Burst& burst) {
  return {{"factor", burst.factor},
          {"rate", burst.rate},
          {"wanted_bytes", burst.wanted_bytes},
          {"swap_bytes", burst.swap_bytes}};
}

void read(JsonObject& object, Burst& burst) {
  burst.factor = object.number("factor", 0, kMost);
  burst.rate = object.number("rate", 0, kMost);
  burst.wanted_bytes = object.number("wanted_bytes", 0, kMost);
  burst.swap_bytes = object.number("swap_bytes", 0, kMost);
}

Ordered write(const Batch& batch) {
  return {{"batch", batch.batch},
          {"throughput", batch.throughput},
          {"peak_bytes", batch.peak_bytes},
          {"pool_bytes", batch.pool_bytes}};
}

void read(JsonObject& object, Batch& batch) {
  batch.batch = object.count("batch", 1, UINT32_MAX);
  batch.throughput = object.number("throughput", 0, kMost);
  batch.peak_bytes = object.number("peak_bytes", 0, kMost);
  batch.pool_bytes = object.number("pool_bytes", 0, kMost);
}

template <typename T>
Ordered write_all(const std::vector<T>& list) {
  Ordered json = Ordered::array();
  for (const T& one : list) json.push_back(write(one));
  return json;
}

template <typename T>
Result<void> read_all(JsonObject& object, const char* key, std::vector<T>& list) {
  const Json* array = object.take(key);
  if (array == nullptr || !array->is_array()) {
    object.fail(concat(key, " is not an array"));
    return {};
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    JsonObject one((*array)[i], concat("profile: evidence.", key, "[", i, "]"));
    read(one, list.emplace_back());
    AQUA_TRY(one.finish());
  }
  return {};
}

void read_texts(JsonObject& object, const char* key, std::map<std::string, std::string>& texts) {
  const Json* found = object.take(key);
  if (found == nullptr || !found->is_object()) return object.fail(concat(key, " is not an object"));
  for (const auto& [name, value] : found->items()) {
    if (!value.is_string()) return object.fail(concat(key, " has what is not text"));
    texts[name] = value.get<std::string>();
  }
}

Ordered write(const Evidence& evidence) {
  Ordered json;
  json["engine"] = evidence.engine;
  json["model"] = evidence.model;
  json["memory"] = evidence.memory;
  json["settings"] = evidence.settings;
  json["probes"] = write_all(evidence.probes);
  json["bursts"] = write_all(evidence.bursts);
  json["batches"] = write_all(evidence.batches);
  json["prefix_swap_bytes"] = evidence.prefix_swap_bytes;
  json["long_prompt_swap_bytes"] = evidence.long_prompt_swap_bytes;
  json["warnings"] = evidence.warnings;
  json["reason"] = evidence.reason;
  return json;
}

Result<Evidence> read_evidence(const Json& value) {
  JsonObject object(value, "profile: evidence");
  Evidence evidence;
  evidence.engine = object.text("engine");
  evidence.model = object.text("model");
  evidence.memory = object.text("memory");
  read_texts(object, "settings", evidence.settings);
  AQUA_TRY(read_all(object, "probes", evidence.probes));
  AQUA_TRY(read_all(object, "bursts", evidence.bursts));
  AQUA_TRY(read_all(object, "batches", evidence.batches));
  evidence.prefix_swap_bytes = object.number("prefix_swap_bytes", 0, kMost);
  evidence.long_prompt_swap_bytes = object.number("long_prompt_swap_bytes", 0, kMost);
  read_texts(object, "warnings", evidence.warnings);
  evidence.reason = object.text("reason");
  AQUA_TRY(object.finish());
  return evidence;
}

}  // namespace

void warn(Evidence& evidence, const std::string& about, std::string text) {
  if (text.empty()) {
    evidence.warnings.erase(about);
  } else {
    evidence.warnings[about] = std::move(text);
  }
}

std::string render_record(const Record& record) {
  Ordered json;
  profile::write_fields(json, record.profile);
  json["evidence"] = write(record.evidence);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Record> parse_record(std::string_view text) {
  AQUA_ASSIGN(const Json value, profile::parse_json(text));
  JsonObject object(value, "profile");
  Record record{.profile = profile::read_fields(object)};
  const Json* evidence = object.take("evidence");
  AQUA_TRY(object.finish());
  AQUA_ASSIGN(record.evidence, read_evidence(*evidence));
  return record;
}

}  // namespace aqua::profiler
