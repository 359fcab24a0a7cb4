// SPDX-License-Identifier: Apache-2.0
// What a lender puts up: slabs of its device's free memory, all or none.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "aqua/result.hpp"
#include "device/device.hpp"

namespace aqua::lending {

// `bytes`, rounded down to whole slabs of `slab_bytes`. invalid_argument when that is none;
// resource_exhausted, telling both numbers, when the device has less free: nothing is taken then.
[[nodiscard]] Result<std::vector<std::unique_ptr<device::Slab>>> take_slabs(device::Device& device,
                                                                            std::size_t bytes,
                                                                            std::size_t slab_bytes);

}  // namespace aqua::lending
