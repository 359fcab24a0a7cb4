// SPDX-License-Identifier: Apache-2.0
// MappedSlabs are slabs that lie one after another in a range of device addresses, made here or
// imported: what PublishedMemory and SharedMemory have in common. The addresses are fixed for life;
// a slab may be unmapped for a while, or be replaced by another one of its size.
//
// Threads: one at a time, but copy(), base() and bytes(). Must be gone before its runtime.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "aqua/runtime.hpp"
#include "aqua/slab_descriptor.hpp"
#include "base/mutex.hpp"
#include "base/unique_fd.hpp"
#include "device/device.hpp"
#include "device/own_stream.hpp"

namespace aqua::runtime {

class MappedSlabs {
 public:
  struct Place {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    std::unique_ptr<device::Slab> slab{};  // null: there is none now
    bool mapped = false;
    UniqueFd descriptor{};  // where whoever uses this has exported it
  };

  // `what` begins the messages of errors. What fails leaves this to be destroyed.
  MappedSlabs(Runtime& runtime, std::string what);

  ~MappedSlabs();
  MappedSlabs(const MappedSlabs&) = delete;
  MappedSlabs& operator=(const MappedSlabs&) = delete;

  // Reserves addresses for slabs of these sizes. invalid_argument: none, or no multiple of the
  // device's granularity.
  [[nodiscard]] Result<void> reserve(const std::vector<std::size_t>& sizes);
  // New slabs for all places, not mapped.
  [[nodiscard]] Result<void> create_all(device::SlabUse use);
  // Imports and maps slabs for all places, or none. invalid_argument: of other sizes than the
  // places.
  [[nodiscard]] Result<void> import_all(const std::vector<SlabDescriptor>& slabs,
                                        device::SlabUse use, device::MapAccess access);
  // What is not mapped.
  [[nodiscard]] Result<void> map(device::MapAccess access);
  [[nodiscard]] Result<void> unmap();
  // Unmaps all and lets go of the slabs.
  [[nodiscard]] Result<void> let_go();

  // invalid_argument: beyond the slabs. failed_precondition: not all of them are mapped, or this
  // process is a fork.
  [[nodiscard]] Result<void> check_inside(const char* call, std::size_t offset,
                                          std::size_t bytes) const;
  // Blocks until the bytes are there. Either may be host memory.
  [[nodiscard]] Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes);
  // Fills all with zeroes; blocks.
  [[nodiscard]] Result<void> scrub();
  // failed_precondition: this process is a fork.
  [[nodiscard]] Result<void> check_process() const;

  [[nodiscard]] std::byte* base() const noexcept { return range_->base(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return range_->bytes(); }
  [[nodiscard]] std::vector<Place>& places() noexcept { return places_; }
  [[nodiscard]] const std::vector<Place>& places() const noexcept { return places_; }
  [[nodiscard]] device::Device& device() noexcept { return device_; }

 private:
  [[nodiscard]] Result<void> wait() AQUA_REQUIRES(copying_);
  // Mapped or not from now on, which the runtime's budget counts.
  void set_mapped(Place& place, bool mapped);

  mutable Runtime runtime_;  // a view, which stays good when the runtime is moved
  const std::string what_;
  device::Device& device_;
  std::unique_ptr<device::AddressRange> range_;
  std::vector<Place> places_;
  Mutex copying_;  // one copy at a time: the stream, its event and the wait are one
  device::OwnStream stream_;
  std::unique_ptr<device::Event> event_;
};

[[nodiscard]] std::vector<std::size_t> sizes_of(const std::vector<SlabDescriptor>& slabs);
// The descriptors of those places that have one.
[[nodiscard]] std::vector<SlabDescriptor> descriptors_of(const MappedSlabs& slabs);

}  // namespace aqua::runtime
