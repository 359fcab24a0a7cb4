// SPDX-License-Identifier: Apache-2.0
// A borrower at work: copies into borrowed memory are always queued on the device, so that one
// that is killed has some in flight.
#pragma once

#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "tests/device/device_kinds.hpp"

namespace aqua::lending {

class Churn {
 public:
  // Copies are queued when this returns, and from then on until the process ends. Both `device`
  // and the memory at `to` must last until then.
  Churn(device::Device& device, std::byte* to, std::size_t bytes)
      : device_(device), to_(to), source_(device::make_place(device, bytes)) {
    device::upload(device, source_.base(), device::pattern(bytes, 1));
    std::thread([this, earlier = post()]() mutable {
      for (;;) {
        auto later = post();
        if (!device_.synchronize(*earlier).ok()) std::abort();
        earlier = std::move(later);
      }
    }).detach();
  }
  Churn(const Churn&) = delete;
  Churn& operator=(const Churn&) = delete;

 private:
  // As many as take a GPU some milliseconds; from its own memory, so that none waits for the host.
  [[nodiscard]] std::unique_ptr<device::Event> post() {
    for (int i = 0; i < 256; ++i) {
      const auto copy = device::one(to_, source_.base(), source_.slab->bytes());
      if (!device_.copy(copy, Stream{}).ok()) std::abort();
    }
    auto event = device_.create_event().value();
    if (!device_.record(*event, Stream{}).ok()) std::abort();
    return event;
  }

  device::Device& device_;
  std::byte* const to_;
  const device::Place source_;
};

}  // namespace aqua::lending
