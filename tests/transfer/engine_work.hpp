// SPDX-License-Identifier: Apache-2.0
// What an engine does on a stream of its own, on every device under test: kernels that write and
// read memory, and a gate that holds what is posted behind it.
#pragma once

#include <cstdlib>
#include <functional>
#include <future>
#include <utility>

#include "base/concat.hpp"
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

// Holds a stream until open(): what is posted behind it has surely not started.
class Gate {
 public:
  Gate(device::Device& device, Stream stream) : driver_(stand_in_under(device)) {
    if (driver_ != nullptr) {
      gate_ = driver_->gate(reinterpret_cast<void*>(stream.native));
      return;
    }
    const auto held =
        device::launch(device, stream, [opened = opened_.get_future().share()] { opened.wait(); });
    if (!held.ok()) std::abort();  // tests would pass without it
  }
  ~Gate() { open(); }
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
