// SPDX-License-Identifier: Apache-2.0
#include "lending/take_slabs.hpp"

#include "base/concat.hpp"

namespace aqua::lending {

Result<std::vector<std::unique_ptr<device::Slab>>> take_slabs(device::Device& device,
                                                              std::size_t bytes,
                                                              std::size_t slab_bytes) {
  if (bytes < slab_bytes) {
    return Error{Code::invalid_argument,
                 concat("lend: ", bytes, " bytes are less than a slab of ", slab_bytes)};
  }
  const std::size_t free_bytes = device.free_bytes();
  std::vector<std::unique_ptr<device::Slab>> slabs;
  for (std::size_t left = bytes; left >= slab_bytes; left -= slab_bytes) {
    auto slab = device.create_slab(slab_bytes);
    if (slab.ok()) {
      slabs.push_back(std::move(*slab));
      continue;
    }
    if (slab.error().code != Code::resource_exhausted) return std::move(slab).error();
    return Error{Code::resource_exhausted,
                 concat("lend: ", bytes, " bytes wanted, ", free_bytes, " free; nothing was lent")};
  }
  return slabs;
}

}  // namespace aqua::lending
