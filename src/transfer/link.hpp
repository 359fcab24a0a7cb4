// SPDX-License-Identifier: Apache-2.0
// What lies between an engine's cache and a tensor, and which way the bytes go over it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "aqua/types.hpp"
#include "device/device.hpp"

namespace aqua::transfer {

// Where the tensor's end of a transfer is; the cache's end is always this device.
enum class Link : std::uint8_t { local, peer, host };
inline constexpr std::array kLinks{Link::local, Link::peer, Link::host};

enum class Direction : std::uint8_t {
  offload,  // gather: cache -> tensor
  fetch,    // scatter: tensor -> cache
};
inline constexpr std::array kDirections{Direction::offload, Direction::fetch};

[[nodiscard]] constexpr Link link_to(Tier tier) noexcept {
  switch (tier) {
    case Tier::local:
      return Link::local;
    case Tier::peer:
      return Link::peer;
    case Tier::host:
      break;
  }
  return Link::host;
}

// What the bytes cross between the cache and the tensor.
[[nodiscard]] constexpr device::CopyPath path_of(Link link, Direction direction) noexcept {
  if (link == Link::local) return device::CopyPath::within_device;
  if (link == Link::peer) return device::CopyPath::peer;
  return direction == Direction::offload ? device::CopyPath::to_host : device::CopyPath::from_host;
}

[[nodiscard]] constexpr std::string_view to_string(Link link) noexcept {
  constexpr std::array<std::string_view, 3> kNames{"local", "peer", "host"};
  return kNames[static_cast<std::size_t>(link)];
}
[[nodiscard]] constexpr std::string_view to_string(Direction direction) noexcept {
  return direction == Direction::offload ? "offload" : "fetch";
}

}  // namespace aqua::transfer
