// SPDX-License-Identifier: Apache-2.0
#include "base/keeper/packets.hpp"

#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "base/json_object.hpp"

namespace aqua::keeper_wire {
namespace {

constexpr double kMostNumber = 1e15;  // doubles count further than that

}  // namespace

Code code_named(std::string_view name) {
  for (std::uint8_t number = 0; number <= static_cast<std::uint8_t>(Code::internal); ++number) {
    if (to_string(static_cast<Code>(number)) == name) return static_cast<Code>(number);
  }
  return Code::internal;
}

std::string dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string encode_refusal(const Error& error) {
  return dump({{"error", to_string(error.code)}, {"message", error.message}});
}

std::optional<Error> read_refusal(const nlohmann::json& json) {
  JsonObject object(json, "keeper");
  if (!object.has("error")) return std::nullopt;
  const std::string code = object.text("error");
  std::string message = object.text("message");
  if (auto read = object.finish(); !read.ok()) return std::move(read).error();
  return Error{code_named(code), std::move(message)};
}

std::uint64_t read_number(JsonObject& object, const char* key) {
  return static_cast<std::uint64_t>(object.number(key, 0, kMostNumber));
}

std::uint64_t read_bytes(JsonObject& object, const nlohmann::json& value) {
  const bool whole = value.is_number_unsigned();
  if (!whole || value.get<std::uint64_t>() > kMostBytes) object.fail("bytes are no size");
  return whole ? value.get<std::uint64_t>() : 0;
}

DeviceUuid read_device(JsonObject& object) {
  const auto device = parse_id<DeviceTag>(object.text("device"));
  if (device.ok()) return *device;
  object.fail("device is not of 32 hexadecimal digits");
  return {};
}

std::vector<std::uint64_t> read_sizes(JsonObject& object) {
  std::vector<std::uint64_t> sizes;
  const nlohmann::json* list = object.take("bytes");
  if (list == nullptr) return sizes;
  if (!list->is_array() || list->size() > kMaxDescriptors) {
    object.fail(concat("bytes is not a list of at most ", kMaxDescriptors));
    return sizes;
  }
  for (const nlohmann::json& size : *list) sizes.push_back(read_bytes(object, size));
  return sizes;
}

}  // namespace aqua::keeper_wire
