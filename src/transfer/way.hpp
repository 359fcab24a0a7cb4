// How bytes get from one place to the other, and which way suits a transfer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.hpp"

namespace aqua::transfer {

enum class Direction : std::uint8_t {
  offload,  // gather: cache -> tensor
  fetch,    // scatter: tensor -> cache
};

enum class Way : std::uint8_t {
  direct,  // one batch of copies straight between cache and tensor
  staged,  // through a buffer on this device, so that the link sees few large copies
};

// Pure. `copies` is how many pieces `bytes` falls into after merging neighbours. Only a
// real link has a cost per copy; its threshold here is a published figure (batched copies
// of H100 fall off below 28 KiB), not yet one measured on this machine.
[[nodiscard]] constexpr Way choose_way(device::Kind kind, std::size_t bytes,
                                       std::size_t copies) noexcept {
  constexpr std::size_t kSmallCopy = std::size_t{28} << 10;
  if (kind != device::Kind::cuda || copies < 2) return Way::direct;
  return bytes / copies < kSmallCopy ? Way::staged : Way::direct;
}

}  // namespace aqua::transfer
