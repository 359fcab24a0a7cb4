// SPDX-License-Identifier: Apache-2.0
// What the GPU benchmarks hold of CUDA. They measure what the hardware and our kernels do, so
// they call the runtime directly; any failure ends the program.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>

#include "must.hpp"

namespace aqua::bench {

inline void must(int error, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "gpu_bench: %s:%d: %s\n", file, line,
               cudaGetErrorString(static_cast<cudaError_t>(error)));
  std::exit(1);
}

class Stream {
 public:
  Stream() { must(cudaStreamCreateWithFlags(&raw_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(raw_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return raw_; }
  void synchronize() const { must(cudaStreamSynchronize(raw_)); }

 private:
  cudaStream_t raw_ = nullptr;
};

class Event {
 public:
  Event() { must(cudaEventCreate(&raw_)); }
  ~Event() { cudaEventDestroy(raw_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) const { must(cudaEventRecord(raw_, stream)); }
  void hold(cudaStream_t stream) const { must(cudaStreamWaitEvent(stream, raw_, 0)); }
  [[nodiscard]] double seconds_since(const Event& start) const {
    float ms = 0;
    must(cudaEventElapsedTime(&ms, start.raw_, raw_));
    return static_cast<double>(ms) / 1e3;
  }

 private:
  cudaEvent_t raw_ = nullptr;
};

enum class Where : unsigned char { device, host };  // host: page-locked, mapped

class Buffer {
 public:
  Buffer(Where where, std::size_t bytes) : where_(where), bytes_(bytes) {
    must(where == Where::device ? cudaMalloc(&raw_, bytes)
                                : cudaHostAlloc(&raw_, bytes, cudaHostAllocMapped));
  }
  ~Buffer() { where_ == Where::device ? cudaFree(raw_) : cudaFreeHost(raw_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(raw_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::span<std::byte> area() const { return {data(), bytes_}; }

 private:
  Where where_;
  std::size_t bytes_;
  void* raw_ = nullptr;
};

}  // namespace aqua::bench
