// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/wire/ucx_point.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "base/text/hex.hpp"

namespace aqua::courier {
namespace {

using Json = nlohmann::json;

// Nothing: it is not text of two digits for each byte.
std::optional<std::string> bytes_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  const std::string_view digits = found->get_ref<const std::string&>();
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = hex_value(digits[i]), low = hex_value(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(16 * high + low));
  }
  return bytes;
}

}  // namespace

Json json_of(const UcxPoint& point) {
  const auto* const address = reinterpret_cast<const std::uint8_t*>(point.address.data());
  return {{"key", to_hex(point.key)}, {"address", to_hex({address, point.address.size()})}};
}

std::optional<UcxPoint> ucx_point_of(const Json& json) {
  if (!json.is_object() || json.size() != 2) return std::nullopt;
  const auto key = bytes_of(json, "key"), address = bytes_of(json, "address");
  UcxPoint point;
  if (!key || key->size() != point.key.size()) return std::nullopt;
  if (!address || address->empty() || address->size() > kLongestUcxAddress) return std::nullopt;
  std::ranges::transform(*key, point.key.begin(),
                         [](char byte) { return static_cast<std::uint8_t>(byte); });
  point.address = *address;
  return point;
}

}  // namespace aqua::courier
