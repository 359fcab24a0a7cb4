// SPDX-License-Identifier: Apache-2.0
// What an engine does on a stream of its own, on every device under test: it writes and reads
// memory, and a gate holds what is posted behind it. With AQUA_ON_GPU also on a GPU's own driver,
// where copies stand for the engine's kernels.
#pragma once

#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#if defined(AQUA_ON_GPU)
#include <cuda_runtime_api.h>
#endif

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/memfd/device.hpp"
#include "tests/device/cuda/stand_in/stand_in.hpp"

namespace aqua::test {

// The driver under a CUDA device where that is our stand-in; else null.
inline const stand_in::Hooks* stand_in_under(const device::Device& device) {
  return device.info().kind == device::Kind::cuda ? stand_in::hooks() : nullptr;
}

// `work` touches [base, base + bytes), by the addresses that device::kernel_view() gives.
inline Result<void> launch(device::Device& device, Stream stream, std::function<void()> work,
                           const std::byte* base, std::size_t bytes) {
  const auto* driver = stand_in_under(device);
  if (driver == nullptr) return device::launch(device, stream, std::move(work));
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  const int refused = driver->launch(reinterpret_cast<void*>(stream.native), std::move(work),
                                     {{begin, begin + bytes}});
  if (refused == 0) return {};
  return Error{Code::invalid_argument, concat("launch: CUDA error ", refused)};
}

using Bytes = std::vector<std::byte>;

#if defined(AQUA_ON_GPU)
// Page-locked, so that a copy of it is posted like any other work.
inline std::shared_ptr<std::byte> page_locked(std::size_t bytes) {
  void* memory = nullptr;
  if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) != cudaSuccess) std::abort();
  return {static_cast<std::byte*>(memory), cudaFreeHost};
}
inline Result<void> post_copy(device::Device& device, Stream stream, std::byte* to,
                              const std::byte* from, std::size_t bytes) {
  return device.copy(std::make_shared<const std::vector<device::CopySegment>>(
                         std::vector<device::CopySegment>{{to, from, bytes}}),
                     stream);
}
#endif

// On the GPU's own driver, which runs no function of ours as a kernel.
inline bool on_gpu([[maybe_unused]] const device::Device& device) {
#if defined(AQUA_ON_GPU)
  return device.info().kind == device::Kind::cuda;
#else
  return false;
#endif
}

// Posts a write of `bytes` to `stream`. Keep what it returns until that has run.
inline Result<std::shared_ptr<std::byte>> post_write(device::Device& device, Stream stream,
                                                     std::byte* to, Bytes bytes) {
#if defined(AQUA_ON_GPU)
  if (on_gpu(device)) {
    auto kept = page_locked(bytes.size());
    std::memcpy(kept.get(), bytes.data(), bytes.size());
    AQUA_TRY(post_copy(device, stream, to, kept.get(), bytes.size()));
    return kept;
  }
#endif
  const std::size_t size = bytes.size();
  AQUA_TRY(launch(
      device, stream,
      [to, bytes = std::move(bytes)] {
        std::memcpy(device::kernel_view(to), bytes.data(), bytes.size());
      },
      to, size));
  return std::shared_ptr<std::byte>();
}

// Posts a read into `out`. Call what it returns once that has run.
inline Result<std::function<void()>> post_read(device::Device& device, Stream stream,
                                               const std::byte* from, Bytes& out) {
#if defined(AQUA_ON_GPU)
  if (on_gpu(device)) {
    auto seen = page_locked(out.size());
    AQUA_TRY(post_copy(device, stream, seen.get(), from, out.size()));
    return std::function<void()>([seen, &out] { std::memcpy(out.data(), seen.get(), out.size()); });
  }
#endif
  AQUA_TRY(launch(
      device, stream,
      [&out, from] { std::memcpy(out.data(), device::kernel_view(from), out.size()); }, from,
      out.size()));
  return std::function<void()>([] {});
}

// Holds a stream until open(): what is posted behind it has surely not started.
class Gate {
 public:
  Gate(device::Device& device, Stream stream) : driver_(stand_in_under(device)) {
#if defined(AQUA_ON_GPU)
    if (on_gpu(device)) {
      auto* const opened = new std::shared_future<void>(opened_.get_future().share());
      const auto wait = [](void* future) {
        const std::unique_ptr<std::shared_future<void>> held(
            static_cast<std::shared_future<void>*>(future));
        held->wait();
      };
      if (cudaLaunchHostFunc(reinterpret_cast<cudaStream_t>(stream.native), wait, opened) !=
          cudaSuccess)
        std::abort();  // tests would pass without it
      return;
    }
#endif
    if (driver_ != nullptr) {
      gate_ = driver_->gate(reinterpret_cast<void*>(stream.native));
      return;
    }
    const auto held =
        device::launch(device, stream, [opened = opened_.get_future().share()] { opened.wait(); });
    if (!held.ok()) std::abort();  // tests would pass without it
  }
  ~Gate() {
    open();
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() {
    if (std::exchange(open_, true)) return;
    driver_ != nullptr ? driver_->open(gate_) : opened_.set_value();
  }

 private:
  const stand_in::Hooks* const driver_;
  std::uint64_t gate_ = 0;
  std::promise<void> opened_;
  bool open_ = false;
};

}  // namespace aqua::test
