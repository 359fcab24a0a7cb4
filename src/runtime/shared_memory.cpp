// SPDX-License-Identifier: Apache-2.0
#include "aqua/shared_memory.hpp"

#include <utility>

#include "base/internals.hpp"
#include "base/try.hpp"
#include "runtime/impl.hpp"
#include "runtime/mapped_slabs.hpp"

namespace aqua {

struct SharedMemory::Parts {
  explicit Parts(Runtime& runtime) : slabs(runtime, "shared memory") {}
  runtime::MappedSlabs slabs;
};

SharedMemory::SharedMemory(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
SharedMemory::SharedMemory(SharedMemory&&) noexcept = default;
SharedMemory& SharedMemory::operator=(SharedMemory&&) noexcept = default;
SharedMemory::~SharedMemory() = default;

Result<SharedMemory> SharedMemory::create(Runtime& runtime, const std::vector<std::size_t>& sizes) {
  AQUA_TRY(detail::Internals::impl(runtime).check_process());
  auto parts = std::make_unique<Parts>(runtime);
  runtime::MappedSlabs& slabs = parts->slabs;
  AQUA_TRY(slabs.reserve(sizes));
  AQUA_TRY(slabs.create_all(device::SlabUse::lend));
  AQUA_TRY(slabs.map(device::MapAccess::read_write));
  AQUA_TRY(slabs.scrub());  // it may have been another tenant's
  for (auto& place : slabs.places()) {
    AQUA_ASSIGN(place.descriptor, slabs.device().export_slab(*place.slab));
  }
  return SharedMemory(std::move(parts));
}

Result<SharedMemory> SharedMemory::open(Runtime& runtime,
                                        const std::vector<SlabDescriptor>& slabs) {
  AQUA_TRY(detail::Internals::impl(runtime).check_process());
  auto parts = std::make_unique<Parts>(runtime);
  AQUA_TRY(parts->slabs.reserve(runtime::sizes_of(slabs)));
  AQUA_TRY(parts->slabs.import_all(slabs, device::SlabUse::lend, device::MapAccess::read_write));
  return SharedMemory(std::move(parts));
}

std::byte* SharedMemory::address() const noexcept {
  return parts_->slabs.base();
}
std::size_t SharedMemory::bytes() const noexcept {
  return parts_->slabs.bytes();
}
std::vector<SlabDescriptor> SharedMemory::descriptors() const {
  return runtime::descriptors_of(parts_->slabs);
}

}  // namespace aqua
