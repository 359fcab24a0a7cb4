// SPDX-License-Identifier: Apache-2.0
// How the consumers keep their KV: flat, or as layers in fewer frames than there are layers.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "cache_shape.hpp"

namespace aqua::example {

struct Expansion {
  static constexpr std::uint32_t kLeastFrames = 3;

  bool automatic = false;  // the pool chooses
  double factor = 0;       // layers over frames; 0: flat, unless it is automatic

  [[nodiscard]] bool on() const { return automatic || factor > 0; }
  // At first; 0: as many as layers.
  [[nodiscard]] std::uint32_t frames() const {
    if (automatic || !on()) return 0;
    const auto frames = static_cast<std::uint32_t>(std::lround(CacheShape::kLayers / factor));
    return std::clamp<std::uint32_t>(frames, kLeastFrames, CacheShape::kLayers);
  }
};

inline std::string to_string(const Expansion& expansion) {
  if (!expansion.on()) return "off";
  if (expansion.automatic) return "auto";
  std::string text(16, '\0');
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), expansion.factor);
  text.resize(error == std::errc{} ? static_cast<std::size_t>(end - text.data()) : 0);
  return text;
}

}  // namespace aqua::example
