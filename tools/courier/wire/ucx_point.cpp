// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/wire/ucx_point.hpp"

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/text/hex.hpp"

namespace aqua::courier {
namespace {

using Json = nlohmann::json;

// "": it is no text.
std::string text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? "" : found->get<std::string>();
}

}  // namespace

Json json_of(const UcxPoint& point) {
  const auto* const address = reinterpret_cast<const std::uint8_t*>(point.address.data());
  return {{"key", to_hex(point.key)}, {"address", to_hex({address, point.address.size()})}};
}

std::optional<UcxPoint> ucx_point_of(const Json& json) {
  if (!json.is_object() || json.size() != 2) return std::nullopt;
  UcxPoint point;
  if (!from_hex(text_in(json, "key"), point.key)) return std::nullopt;
  const std::string address = text_in(json, "address");
  if (address.empty() || address.size() > 2 * kLongestUcxAddress) return std::nullopt;
  point.address.resize(address.size() / 2);
  const std::span bytes(reinterpret_cast<std::uint8_t*>(point.address.data()),
                        point.address.size());
  if (!from_hex(address, bytes)) return std::nullopt;
  return point;
}

}  // namespace aqua::courier
