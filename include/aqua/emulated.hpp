// SPDX-License-Identifier: Apache-2.0
// What an engine on an emulated GPU uses in place of the CUDA runtime: device memory,
// streams, kernels. For tests, examples and machines without a GPU.
//
// Every function fails with unimplemented when the runtime's device is not emulated.
// Threads: concurrent calls are fine.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "aqua/export.h"
#include "aqua/result.hpp"
#include "aqua/runtime.hpp"
#include "aqua/types.hpp"

namespace aqua::emulated {

// Device memory, freed when destroyed: no work on it may be in flight then.
class AQUA_API Memory {
 public:
  Memory() noexcept;
  Memory(Memory&&) noexcept;
  Memory& operator=(Memory&&) noexcept;
  ~Memory();
  [[nodiscard]] std::byte* data() const noexcept;  // a device address: not for host threads
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  AQUA_API friend Result<Memory> allocate(Runtime& runtime, std::size_t bytes);
  struct AQUA_LOCAL Parts;
  explicit Memory(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

// Takes device memory, rounded up to 2 MiB. invalid_argument for 0 bytes; resource_exhausted when
// the device has less free.
[[nodiscard]] AQUA_API Result<Memory> allocate(Runtime& runtime, std::size_t bytes);

[[nodiscard]] AQUA_API Result<Stream> create_stream(Runtime& runtime);
// Waits for the stream's work first.
[[nodiscard]] AQUA_API Result<void> destroy_stream(Runtime& runtime, Stream stream);
// Blocks this host thread until the work posted to `stream` so far is done.
[[nodiscard]] AQUA_API Result<void> synchronize(Runtime& runtime, Stream stream);

// Work posted to `stream` from now on runs after the work posted to `earlier` so far: CUDA's
// cudaEventRecord() and cudaStreamWaitEvent(). Waits for nothing itself.
[[nodiscard]] AQUA_API Result<void> run_after(Runtime& runtime, Stream stream, Stream earlier);

// Runs `kernel` on the stream, in order. Inside it, and only there, what kernel_view() makes of
// device addresses can be followed; of one address it is always the same.
[[nodiscard]] AQUA_API Result<void> launch(Runtime& runtime, Stream stream,
                                           std::function<void()> kernel);
[[nodiscard]] AQUA_API std::byte* kernel_view(std::byte* device_address) noexcept;
[[nodiscard]] AQUA_API const std::byte* kernel_view(const std::byte* device_address) noexcept;

}  // namespace aqua::emulated
