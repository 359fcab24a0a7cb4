// SPDX-License-Identifier: Apache-2.0
// UcxPoint is where one side of a connection is reached by UCX, and the key that messages to it
// have to begin with. Couriers tell each other over TLS; each connection has its own.
//
// Threads: plain values and functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace aqua::courier {

using UcxKey = std::array<std::uint8_t, 16>;

inline constexpr std::size_t kLongestUcxAddress = 6 << 10;  // as hexadecimal it fits into a message

struct UcxPoint {
  UcxKey key{};
  std::string address{};  // of a worker, as UCX writes it; bytes
  friend bool operator==(const UcxPoint&, const UcxPoint&) = default;
};

[[nodiscard]] nlohmann::json json_of(const UcxPoint& point);
// Nothing: it is none.
[[nodiscard]] std::optional<UcxPoint> ucx_point_of(const nlohmann::json& json);

}  // namespace aqua::courier
