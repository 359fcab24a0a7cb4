// SPDX-License-Identifier: Apache-2.0
// What launchers need to know of the current device, asked once per device.
//
// Threads: may be called concurrently.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace aqua::kernels {

struct DeviceTraits {
  unsigned sms = 0;
  int capability_major = 0;
  std::uint64_t shared_bytes = 0;  // the most that one CTA may have
  unsigned bulk_warps = 0;         // of a CTA of the bulk kernel; 0: not on this device
};

// The first call for a device also runs `load`, which may fill in more. A failure is not kept:
// the next call tries again. `anew` runs it in any case: what it sets belongs to the current
// context, and a device that was reset, or let go and taken again, has another one.
cudaError_t traits_of_current(DeviceTraits& traits, cudaError_t (*load)(DeviceTraits&),
                              bool anew = false);

}  // namespace aqua::kernels
