// SPDX-License-Identifier: Apache-2.0
// Manifests as JSON: types and views by name, digests in hexadecimal.
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "aqua/sharing/manifest.hpp"
#include "base/concat.hpp"
#include "base/ids.hpp"
#include "base/json_object.hpp"
#include "base/shallow_json.hpp"
#include "base/try.hpp"
#include "systems/sharing/decide/manifest_limits.hpp"

namespace aqua::sharing {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 4;
constexpr const char* kFormat = "aqua-manifest/1";

Digest read_digest(JsonObject& object) {
  const auto bytes = detail::parse_hex(object.text("digest"));
  if (bytes.ok()) return {.bytes = *bytes};
  object.fail("digest is not of 32 hexadecimal digits");
  return {};
}

std::uint64_t whole(JsonObject& object, const char* key, const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  object.fail(concat(key, " is not a whole number of at least 0"));
  return 0;
}

std::vector<std::uint64_t> whole_list(JsonObject& object, const char* key, std::size_t most) {
  const Json* list = object.take(key);
  if (list == nullptr) return {};
  std::vector<std::uint64_t> values;
  if (!list->is_array() || list->size() > most) {
    object.fail(concat(key, " is not a list of at most ", most));
    return values;
  }
  values.reserve(list->size());
  for (const Json& value : *list) values.push_back(whole(object, key, value));
  return values;
}

// The elements of a list of objects; none, and a failure, where it is none.
const Json& objects(JsonObject& object, const char* key, std::size_t most) {
  static const Json none = Json::array();
  const Json* list = object.take(key);
  if (list == nullptr) return none;
  if (list->is_array() && list->size() <= most) return *list;
  object.fail(concat(key, " is not a list of at most ", most));
  return none;
}

using Numbers = std::unordered_map<std::string, std::uint32_t>;  // of types or tensors, by name

Result<void> read_types(const Json& list, Manifest& manifest, Numbers& numbers) {
  for (const Json& entry : list) {
    JsonObject object(entry, concat("manifest: type ", manifest.types.size()));
    ElementType type{.name = object.text("name")};
    constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
    type.elements = object.count("elements", 1, kMost);
    type.bytes = object.count("bytes", 1, kMostBlockBytes);
    AQUA_TRY(object.finish());
    numbers.emplace(type.name, manifest.types.size());
    manifest.types.push_back(std::move(type));
  }
  return {};
}

// What it is a view of is only told, since it may come later in the list: empty for none.
Result<TensorInfo> read_tensor(const Json& entry, std::size_t place, const Numbers& types,
                               std::string& view_of) {
  JsonObject object(entry, concat("manifest: tensor ", place));
  TensorInfo tensor{.name = object.text("name")};
  const std::string type = object.text("type");
  const auto found = types.find(type);
  if (found == types.end()) object.fail(concat("there is no type '", type.substr(0, 40), "'"));
  tensor.shape = whole_list(object, "shape", kMostAxes);
  tensor.strides = whole_list(object, "strides", kMostAxes);
  if (const Json* offset = object.take("offset")) tensor.offset = whole(object, "offset", *offset);
  if (object.has("view_of")) {
    view_of = object.text("view_of");
    if (view_of.empty()) object.fail("view_of is empty");
  } else {
    tensor.digest = read_digest(object);
  }
  AQUA_TRY(object.finish());
  tensor.type = found->second;
  return tensor;
}

Result<void> read_tensors(const Json& list, const Numbers& types, Manifest& manifest) {
  Numbers numbers;
  std::vector<std::string> views(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    AQUA_ASSIGN(TensorInfo tensor, read_tensor(list[i], i, types, views[i]));
    numbers.emplace(tensor.name, i);
    manifest.tensors.push_back(std::move(tensor));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (views[i].empty()) continue;
    const auto found = numbers.find(views[i]);
    if (found == numbers.end()) {
      return Error{Code::invalid_argument,
                   concat("manifest: ", manifest.tensors[i].name, ": a view of '",
                          views[i].substr(0, 40), "', which is not there")};
    }
    manifest.tensors[i].view_of = found->second;
  }
  return {};
}

Json to_json(const Manifest& manifest, const TensorInfo& tensor) {
  Json entry{{"name", tensor.name},
             {"type", manifest.types[tensor.type].name},
             {"shape", tensor.shape},
             {"strides", tensor.strides},
             {"offset", tensor.offset}};
  if (tensor.view_of) {
    entry["view_of"] = manifest.tensors[*tensor.view_of].name;
  } else {
    entry["digest"] = to_hex(tensor.digest.bytes);
  }
  return entry;
}

}  // namespace

std::string to_json(const Manifest& manifest) {
  Json json{{"format", kFormat},       {"model", manifest.model},   {"version", manifest.version},
            {"shard", manifest.shard}, {"shards", manifest.shards}, {"slabs", manifest.slabs},
            {"types", Json::array()},  {"tensors", Json::array()}};
  for (const ElementType& type : manifest.types) {
    json["types"].push_back(
        {{"name", type.name}, {"elements", type.elements}, {"bytes", type.bytes}});
  }
  for (const TensorInfo& tensor : manifest.tensors) {
    json["tensors"].push_back(to_json(manifest, tensor));
  }
  return json.dump();
}

Result<Manifest> parse_manifest(std::string_view text) {
  if (text.size() > kMostManifestText) {
    return Error{Code::invalid_argument,
                 concat("manifest: is longer than ", kMostManifestText, " bytes")};
  }
  const Json json = parse_shallow(text, kDeepest);
  JsonObject object(json, "manifest");
  if (object.text("format") != kFormat) object.fail(concat("format is not ", kFormat));
  Manifest manifest{.model = object.text("model"), .version = object.text("version")};
  manifest.shard = object.count("shard", 0, kMostShards - 1);
  manifest.shards = object.count("shards", 1, kMostShards);
  manifest.slabs = whole_list(object, "slabs", kMostManifestSlabs);
  const Json& types = objects(object, "types", kMostTypes);
  const Json& tensors = objects(object, "tensors", kMostTensors);
  AQUA_TRY(object.finish());
  Numbers numbers;
  AQUA_TRY(read_types(types, manifest, numbers));
  AQUA_TRY(read_tensors(tensors, numbers, manifest));
  AQUA_TRY(check(manifest));
  return manifest;
}

}  // namespace aqua::sharing
