// SPDX-License-Identifier: Apache-2.0
#include "kernels/device_traits.hpp"

#include <array>
#include <atomic>
#include <mutex>

namespace aqua::kernels {
namespace {

// Ordinals of this process; a device beyond these is asked every time.
constexpr std::size_t kDevices = 64;

struct Entry {
  std::atomic<bool> known = false;
  DeviceTraits traits;  // constant once known
};
std::array<Entry, kDevices> entries;
std::mutex filling;

cudaError_t ask(int device, DeviceTraits& traits) {
  int sms = 0;
  int shared = 0;
  auto error = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  }
  if (error == cudaSuccess) {
    error =
        cudaDeviceGetAttribute(&traits.capability_major, cudaDevAttrComputeCapabilityMajor, device);
  }
  traits.sms = static_cast<unsigned>(sms);
  traits.shared_bytes = static_cast<std::uint64_t>(shared);
  return error;
}

}  // namespace

cudaError_t traits_of_current(DeviceTraits& traits, cudaError_t (*load)(DeviceTraits&), bool anew) {
  int device = 0;
  if (const auto error = cudaGetDevice(&device); error != cudaSuccess) return error;
  const auto place = static_cast<std::size_t>(device);
  if (!anew && place < kDevices && entries[place].known.load(std::memory_order_acquire)) {
    traits = entries[place].traits;
    return cudaSuccess;
  }
  const std::lock_guard lock(filling);
  auto error = ask(device, traits);
  if (error == cudaSuccess) error = load(traits);
  // A thread that waited meanwhile must not write again what others already read.
  if (error == cudaSuccess && place < kDevices && !entries[place].known) {
    entries[place].traits = traits;
    entries[place].known.store(true, std::memory_order_release);
  }
  return error;
}

}  // namespace aqua::kernels
