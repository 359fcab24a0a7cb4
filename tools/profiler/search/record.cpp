// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/search/record.hpp"

#include "base/try.hpp"
#include "northbound/profile_fields.hpp"

namespace aqua::profiler {
namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;

constexpr double kMost = 1e18;

// A row's numbers, under their names.
template <typename Row, typename Number>
struct Named {
  const char* name;
  Number Row::*field;
};
constexpr Named<Probe, double> kProbeNumbers[]{{"rate", &Probe::rate},
                                               {"peak_bytes", &Probe::peak_bytes},
                                               {"client_bytes", &Probe::client_bytes},
                                               {"pool_bytes", &Probe::pool_bytes},
                                               {"queue_length", &Probe::queue_length},
                                               {"seconds", &Probe::seconds},
                                               {"lateness_s", &Probe::lateness_s}};
constexpr Named<Probe, std::size_t> kProbeCounts[]{
    {"requests", &Probe::requests}, {"answered", &Probe::answered}, {"failures", &Probe::failures}};
constexpr Named<Quantiles, double> kQuantileNumbers[]{{"ttft_p50_s", &Quantiles::ttft_p50_s},
                                                      {"ttft_s", &Quantiles::ttft_s},
                                                      {"tbt_p50_s", &Quantiles::tbt_p50_s},
                                                      {"tbt_s", &Quantiles::tbt_s}};
constexpr Named<Burst, double> kBurstNumbers[]{{"factor", &Burst::factor},
                                               {"rate", &Burst::rate},
                                               {"wanted_bytes", &Burst::wanted_bytes},
                                               {"swap_bytes", &Burst::swap_bytes}};
constexpr Named<Batch, double> kBatchNumbers[]{{"throughput", &Batch::throughput},
                                               {"peak_bytes", &Batch::peak_bytes},
                                               {"pool_bytes", &Batch::pool_bytes}};

template <typename Row, typename Number, std::size_t N>
void write_numbers(Ordered& json, const Row& row, const Named<Row, Number> (&table)[N]) {
  for (const auto& [name, field] : table) json[name] = row.*field;
}
template <typename Row, std::size_t N>
void read_numbers(JsonObject& object, Row& row, const Named<Row, double> (&table)[N]) {
  for (const auto& [name, field] : table) row.*field = object.number(name, 0, kMost);
}

// Files of before have none.
std::size_t read_faults(JsonObject& object) {
  return static_cast<std::size_t>(object.number_or("memory_faults", 0, 0, UINT32_MAX));
}

Ordered write(const Probe& probe) {
  Ordered json;
  write_numbers(json, probe, kProbeNumbers);
  write_numbers(json, probe.quantiles, kQuantileNumbers);
  write_numbers(json, probe, kProbeCounts);
  json["memory_faults"] = probe.memory_faults;
  json["seed"] = probe.seed;
  json["met"] = probe.met;
  json["whole"] = probe.whole;
  return json;
}

void read(JsonObject& object, Probe& probe) {
  read_numbers(object, probe, kProbeNumbers);
  read_numbers(object, probe.quantiles, kQuantileNumbers);
  for (const auto& [name, field] : kProbeCounts) probe.*field = object.count(name, 0, UINT32_MAX);
  probe.seed = object.count("seed", 0, UINT32_MAX);
  probe.memory_faults = read_faults(object);
  probe.met = object.flag_or("met", false);
  probe.whole = object.flag_or("whole", false);
}

Ordered write(const Burst& burst) {
  Ordered json;
  write_numbers(json, burst, kBurstNumbers);
  return json;
}

void read(JsonObject& object, Burst& burst) {
  read_numbers(object, burst, kBurstNumbers);
}

Ordered write(const Batch& batch) {
  Ordered json{{"batch", batch.batch}};
  write_numbers(json, batch, kBatchNumbers);
  json["memory_faults"] = batch.memory_faults;
  return json;
}

void read(JsonObject& object, Batch& batch) {
  batch.batch = object.count("batch", 1, UINT32_MAX);
  batch.memory_faults = read_faults(object);
  read_numbers(object, batch, kBatchNumbers);
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
