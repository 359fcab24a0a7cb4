// SPDX-License-Identifier: Apache-2.0
// HostPinning registers the host tier with the runtime's device, a piece at a time on a thread of
// its own: page-locking takes about as long as touching, and start-up must not wait for it.
// Until a piece is registered copies from and to it are correct, only slower.
//
// Threads: any.
// Fork:    destroy it in the process that made it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "runtime/queues/serial_queue.hpp"

namespace aqua::runtime {

class HostPinning {
 public:
  // Called once, on the thread of its own, when a piece cannot be registered; those after it
  // are then left as they are.
  using Failed = std::function<void(const std::string&)>;

  // The pieces stay mapped and `device` open for as long as this lives.
  HostPinning(device::Device& device, const std::vector<std::span<std::byte>>& pieces,
              Failed failed);
  // Waits for the piece in progress and unregisters all: no copy may be in flight.
  ~HostPinning();
  HostPinning(const HostPinning&) = delete;
  HostPinning& operator=(const HostPinning&) = delete;

  [[nodiscard]] std::size_t pinned_bytes() const noexcept { return pinned_bytes_; }

 private:
  void pin(std::span<std::byte> piece);

  device::Device& device_;
  const Failed failed_;
  std::atomic<std::size_t> pinned_bytes_{0};
  bool gave_up_ = false;  // these two belong to the queue's thread until it has stopped
  std::vector<std::span<std::byte>> pinned_;
  SerialQueue queue_;  // last: its thread ends first
};

}  // namespace aqua::runtime
