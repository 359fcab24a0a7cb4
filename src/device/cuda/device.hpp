// SPDX-License-Identifier: Apache-2.0
// An NVIDIA GPU as a device: slabs are physical memory of the driver's virtual memory
// management, exported as POSIX file descriptors; streams are CUDA's own.
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

namespace aqua::device {

struct CudaOptions {
  std::string device = "cuda:0";  // or "GPU-<uuid>" as nvidia-smi -L prints it
  std::size_t total_bytes = 0;    // the most that slabs may take; 0: what the GPU has
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

}  // namespace aqua::device
