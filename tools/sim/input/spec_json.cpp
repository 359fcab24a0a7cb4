// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/input/spec_json.hpp"

#include <algorithm>
#include <filesystem>

#include "base/json_object.hpp"
#include "base/read_file.hpp"
#include "base/shallow_json.hpp"
#include "base/try.hpp"
#include "tools/report/text.hpp"

namespace aqua::sim {
namespace {

using nlohmann::json;

Result<json> parse(std::string_view text, std::string_view what) {
  json value = parse_shallow(text);
  if (value.is_discarded()) {
    return Error{Code::invalid_argument, concat(what, ": not JSON")};
  }
  return value;
}

Result<std::map<std::string, std::string>> stems(JsonObject& object, const char* key) {
  std::map<std::string, std::string> found;
  if (!object.has(key)) return found;
  const json* value = object.take(key);
  if (!value->is_object()) object.fail(concat(key, " is not an object"));
  for (const auto& [gpu, stem] : value->items()) {
    if (!stem.is_string()) return Error{Code::invalid_argument, concat(key, ": a stem is no text")};
    found[gpu] = stem.get<std::string>();
    if (found[gpu].find('/') != std::string::npos) {
      return Error{Code::invalid_argument, concat(key, ": a stem is a file's name, not a path")};
    }
  }
  return found;
}

Result<LinkSpec> link(JsonObject& server, const char* key) {
  LinkSpec spec;
  const json* value = server.take(key);
  if (value == nullptr) return spec;
  JsonObject object(*value, key);
  spec.latency_s = object.number("latency_us", 0, 1e6) * 1e-6;
  spec.in_bytes_per_second = object.number("gb_s", 1e-3, 1e6) * 1e9;
  spec.out_bytes_per_second = object.has("gb_s_out") ? object.number("gb_s_out", 1e-3, 1e6) * 1e9
                                                     : spec.in_bytes_per_second;
  spec.source = object.text("source");
  spec.fit = object.text_or("fit", "");
  spec.devices_per_node =
      object.has("devices_per_node") ? object.count("devices_per_node", 1, 8) : 2;
  AQUA_TRY(object.finish());
  return spec;
}

// Builtin by name, else a file.
template <typename Spec, typename Parse>
Result<Spec> load(const std::string& name, std::string_view kind, Parse parse_text) {
  std::string known;
  for (const Preset& preset : presets()) {
    if (preset.kind != kind) continue;
    if (preset.name == name) return parse_text(preset.json);
    known += concat(known.empty() ? "" : ", ", preset.name);
  }
  if (!std::filesystem::exists(name)) {
    return Error{Code::not_found,
                 concat("no ", kind, " '", name, "': give a file or one of ", known)};
  }
  AQUA_ASSIGN(const std::string text, read_file(name));
  auto spec = parse_text(text);
  if (!spec.ok()) return Error{spec.error().code, concat(name, ": ", spec.error().message)};
  return spec;
}

}  // namespace

Result<ModelSpec> parse_model(std::string_view text) {
  AQUA_ASSIGN(const json value, parse(text, "model"));
  JsonObject object(value, "model");
  ModelSpec spec;
  spec.name = object.text("name");
  spec.layers = object.count("layers", 1, 1000);
  spec.heads = object.count("heads", 1, 4096);
  spec.kv_heads = object.count("kv_heads", 1, 4096);
  spec.head_dim = object.count("head_dim", 1, 4096);
  spec.hidden = object.count("hidden", 1, 1 << 20);
  spec.ffn = object.count("ffn", 1, 1 << 22);
  spec.gated_ffn = object.flag_or("gated_ffn", true);
  spec.vocab = object.count("vocab", 1, 1 << 24);
  spec.bytes_per_value = object.has("bytes_per_value") ? object.count("bytes_per_value", 1, 4) : 2;
  AQUA_ASSIGN(spec.measured, stems(object, "measured"));
  AQUA_ASSIGN(const auto scaled, stems(object, "scaled"));
  for (const auto& [gpu, stem] : scaled) spec.scaled[gpu] = {stem};
  if (spec.kv_heads > spec.heads) object.fail("more kv_heads than heads");
  AQUA_TRY(object.finish());
  return spec;
}

Result<ServerSpec> parse_server(std::string_view text) {
  AQUA_ASSIGN(const json value, parse(text, "server"));
  JsonObject object(value, "server");
  ServerSpec spec;
  spec.name = object.text("name");
  if (const json* gpu_value = object.take("gpu"); gpu_value != nullptr) {
    JsonObject gpu(*gpu_value, "gpu");
    spec.gpu.name = gpu.text("name");
    spec.gpu.memory_bytes = gpu.number("memory_gb", 1e-3, 1e5) * 1e9;
    spec.gpu.memory_bytes_per_second = gpu.number("memory_gb_s", 1e-3, 1e6) * 1e9;
    spec.gpu.flops = gpu.number("tflops", 1e-6, 1e6) * 1e12;
    spec.gpu.memory_efficiency = gpu.number_or("memory_efficiency", 0.8, 0.01, 1);
    spec.gpu.compute_efficiency = gpu.number_or("compute_efficiency", 0.7, 0.01, 1);
    AQUA_TRY(gpu.finish());
  }
  AQUA_ASSIGN(spec.nvlink, link(object, "nvlink"));
  AQUA_ASSIGN(spec.pcie, link(object, "pcie"));
  if (object.has("gpus")) spec.gpus = object.count("gpus", 1, 64);
  if (object.has("network")) {
    AQUA_ASSIGN(spec.network, link(object, "network"));
  }
  if (object.has("host")) {
    JsonObject host(*object.take("host"), "host");
    spec.host_bytes = host.number("gb", 1e-3, 1e6) * 1e9;
    spec.host_source = host.text("source");
    AQUA_TRY(host.finish());
  }
  spec.staging_bytes = object.number_or("staging_mb", 64, 0.1, 1e4) * 1e6;
  spec.usable_memory = object.number_or("usable_memory", 0.9, 0.01, 1);
  if (object.has("kv_block_tokens"))
    spec.kv_block_tokens = object.count("kv_block_tokens", 1, 1024);
  AQUA_TRY(object.finish());
  return spec;
}

Result<ModelSpec> load_model(const std::string& name) {
  return load<ModelSpec>(name, "model", [](std::string_view text) { return parse_model(text); });
}
Result<ServerSpec> load_server(const std::string& name) {
  return load<ServerSpec>(name, "server", [](std::string_view text) { return parse_server(text); });
}

}  // namespace aqua::sim
