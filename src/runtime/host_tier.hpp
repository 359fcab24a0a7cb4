// SPDX-License-Identifier: Apache-2.0
// HostTier is this server's DRAM as a place for tensors: taken and touched at once, by several
// threads, so that the exits that are promised in it are real. A device that copies faster from
// registered memory gets it registered in the background (HostPinning).
//
// Threads: immutable after opening; its Space has locks of its own.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/device.hpp"
#include "lending/slab_arena.hpp"
#include "tensor/space.hpp"

namespace aqua::runtime {

class HostTier {
 public:
  // Takes `bytes`, rounded up to the granularity, near `numa_node` (-1: anywhere) as far as
  // there is room. resource_exhausted when the server has less.
  [[nodiscard]] static Result<std::unique_ptr<HostTier>> open(std::size_t bytes,
                                                              int numa_node = -1);

  [[nodiscard]] device::Device& device() noexcept { return *device_; }
  [[nodiscard]] tensor::Space& space() noexcept { return *space_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // What it is made of: each piece is one mapping, and is registered at once.
  [[nodiscard]] const std::vector<std::span<std::byte>>& pieces() const noexcept { return pieces_; }

 private:
  HostTier() = default;
  [[nodiscard]] Result<void> add_piece(std::size_t index, std::size_t bytes);

  std::size_t bytes_ = 0;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<lending::SlabArena> arena_;
  std::unique_ptr<tensor::Space> space_;
  std::vector<std::span<std::byte>> pieces_;
};

// The same for spare memory of the engine's own device.
class LocalTier {
 public:
  [[nodiscard]] static Result<std::unique_ptr<LocalTier>> open(device::Device& device,
                                                               std::size_t bytes);
  [[nodiscard]] tensor::Space& space() noexcept { return *space_; }

 private:
  LocalTier() = default;
  std::unique_ptr<device::Slab> slab_;  // counts as used on the device
  std::unique_ptr<lending::SlabArena> arena_;
  std::unique_ptr<tensor::Space> space_;
};

}  // namespace aqua::runtime
