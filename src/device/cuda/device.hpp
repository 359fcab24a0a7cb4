// SPDX-License-Identifier: Apache-2.0
// An NVIDIA GPU as a device: slabs are physical memory of the driver's virtual memory
// management, exported as POSIX file descriptors (or fabric handles); streams are CUDA's own.
// docs/engine/cuda.md tells what is shared how, and what is refused.
//
// Builds without CUDA have these functions too: each fails with unimplemented. On a machine
// without a driver or GPU each fails with unavailable and the reason.
//
// Slabs, ranges and events may outlive their device. Streams are cudaStream_t: the engine's own
// may be passed wherever one is taken, Stream{0} is the legacy default stream.
// Fork: CUDA does not survive it, nor are its mappings inherited. In a child every call fails
//       with failed_precondition, and destructors leave the parent's memory alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "device/device.hpp"
#include "device/share_handle.hpp"

namespace aqua::device {

struct CudaOptions {
  std::string device = "cuda:0";  // or "GPU-<uuid>" as nvidia-smi -L prints it
  std::size_t total_bytes = 0;    // the most that slabs may take; 0: what the GPU has
  // Slabs can be exported as fabric handles as well, where the GPU and its driver offer it;
  // where they do not, they are not, and ShareOffer says so.
  bool fabric = false;
  std::string domain{};  // NVLink domain for fabric handles; empty: none are shared
  // A batched command that takes longer than this, from when the work before it has ended, counts
  // as one that hangs: see CopyCounts::batches_hang. As long as the slowest batch behind all that
  // other streams have queued.
  std::chrono::milliseconds batch_patience{10'000};
};

// invalid_argument for a name that is none, not_found for a GPU that this process does not see,
// failed_precondition for one whose memory cannot be shared (no virtual memory management).
[[nodiscard]] Result<std::unique_ptr<Device>> open_cuda(const CudaOptions& options);

// Success where open_cuda would find a driver and a GPU; else its error.
[[nodiscard]] Result<void> cuda_available();

// How this device's slabs can be shared.
// invalid_argument for a device of another kind.
[[nodiscard]] Result<ShareOffer> share_offer(const Device& device);

// export_slab and import_slab for pairs whose negotiation chose the fabric.
// failed_precondition when the device was not opened with `fabric`, or does not offer it.
[[nodiscard]] Result<FabricHandle> export_fabric(Device& device, const Slab& slab);
[[nodiscard]] Result<std::unique_ptr<Slab>> import_fabric(Device& device,
                                                          const FabricHandle& handle,
                                                          std::size_t bytes);

}  // namespace aqua::device
