// SPDX-License-Identifier: Apache-2.0
// Memory of a device under test, or of the host for its use, filled and read the only way a device
// allows: by work on a stream. Failures of the device itself abort the test program; they are not
// the subject.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tests/base/must.hpp"
#include "tests/transfer/engine_work.hpp"

namespace aqua::test {

inline Bytes random_bytes(std::size_t n, unsigned seed) {
  std::minstd_rand random(seed);
  Bytes bytes(n);
  for (auto& b : bytes) b = static_cast<std::byte>(random() >> 8);
  return bytes;
}

// Waits for what was posted to the stream so far.
inline void drain(device::Device& device, Stream stream) {
  auto event = must(device.create_event());
  must(device.record(*event, stream));
  (void)device.synchronize(*event);  // work that failed is over, too
}

enum class Where { device, registered_host, pageable_host };

class DeviceMemory {
 public:
  DeviceMemory(device::Device& device, std::size_t bytes, Where where = Where::device)
      : device_(device), bytes_(bytes), where_(where) {
    stream_ = must(device.create_stream());
    if (where != Where::device) {
      host_.resize(bytes);
      base_ = host_.data();
      if (where == Where::registered_host) must(device.register_host(base_, bytes));
      return;
    }
    const std::size_t unit = device.info().granularity;
    const std::size_t whole = (bytes + unit - 1) / unit * unit;
    slab_ = must(device.create_slab(whole));
    range_ = must(device.reserve(whole));
    must(device.map(*range_, 0, *slab_));
    base_ = range_->base();
  }
  ~DeviceMemory() {
    must(device_.destroy_stream(stream_));
    if (where_ == Where::registered_host) must(device_.unregister_host(base_, bytes_));
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  // Posts to `stream`: what an engine's kernel would do.
  void post_write(std::size_t offset, Bytes bytes, Stream stream) {
    posted_.push_back(must(test::post_write(device_, stream, base_ + offset, std::move(bytes))));
  }
  void write(const Bytes& bytes) {
    const auto kept = must(test::post_write(device_, stream_, base_, bytes));
    drain(device_, stream_);
  }
  // Reads on `stream`, then waits for that.
  [[nodiscard]] Bytes read(std::size_t offset, std::size_t bytes, Stream stream) const {
    Bytes out(bytes);
    const auto finish = must(post_read(device_, stream, base_ + offset, out));
    drain(device_, stream);
    finish();
    return out;
  }
  [[nodiscard]] Bytes read() const { return read(0, bytes_, stream_); }

 private:
  device::Device& device_;
  const std::size_t bytes_;
  const Where where_;
  std::byte* base_ = nullptr;
  Bytes host_;
  std::unique_ptr<device::Slab> slab_;
  std::unique_ptr<device::AddressRange> range_;
  Stream stream_;
  std::vector<std::shared_ptr<std::byte>> posted_;  // of writes that may not have run
};

}  // namespace aqua::test
