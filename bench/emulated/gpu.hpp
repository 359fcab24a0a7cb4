// SPDX-License-Identifier: Apache-2.0
// An emulated GPU for benchmarks that use the library as engines do: a runtime without a
// coordinator, some of the GPU's memory, and a stream.
#pragma once

#include <cstddef>
#include <string>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "must.hpp"

namespace aqua::bench {

class EmulatedGpu {
 public:
  // So many bytes of memory are allocated, of all that there are.
  EmulatedGpu(const std::string& device, std::size_t bytes, std::size_t total_bytes)
      : runtime_(must(Runtime::open({.device = device,
                                     .coordinator = "none",
                                     .host_bytes = 2U << 20U,
                                     .curve_directory = "off",
                                     .emulated = {.total_bytes = total_bytes}}))),
        memory_(must(emulated::allocate(runtime_, bytes))),
        stream_(must(emulated::create_stream(runtime_))) {}
  ~EmulatedGpu() { (void)emulated::destroy_stream(runtime_, stream_); }
  EmulatedGpu(const EmulatedGpu&) = delete;
  EmulatedGpu& operator=(const EmulatedGpu&) = delete;

  [[nodiscard]] Runtime& runtime() { return runtime_; }
  [[nodiscard]] Stream stream() const { return stream_; }
  [[nodiscard]] std::byte* data() const { return memory_.data(); }
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }

 private:
  Runtime runtime_;
  emulated::Memory memory_;
  Stream stream_;
};

}  // namespace aqua::bench
