// SPDX-License-Identifier: Apache-2.0
#include "aqua/published_memory.hpp"

#include <algorithm>
#include <utility>

#include "base/internals.hpp"
#include "base/try.hpp"
#include "device/memfd/device.hpp"
#include "runtime/impl.hpp"
#include "runtime/mapped_slabs.hpp"

namespace aqua {
namespace {

Error not_now(const char* why) {
  return Error{Code::failed_precondition, why};
}

}  // namespace

struct PublishedMemory::Parts {
  explicit Parts(Runtime& runtime) : slabs(runtime, "published memory") {}
  [[nodiscard]] Result<void> import(const std::vector<SlabDescriptor>& from) {
    return slabs.import_all(from, device::SlabUse::publish, device::MapAccess::read_only);
  }

  runtime::MappedSlabs slabs;
  bool created = false;  // here, and not elsewhere
  bool sealed = false;
};

PublishedMemory::PublishedMemory(std::unique_ptr<Parts> parts) noexcept
    : parts_(std::move(parts)) {}
PublishedMemory::PublishedMemory(PublishedMemory&&) noexcept = default;
PublishedMemory& PublishedMemory::operator=(PublishedMemory&&) noexcept = default;
PublishedMemory::~PublishedMemory() = default;

Result<PublishedMemory> PublishedMemory::create(Runtime& runtime,
                                                const std::vector<std::size_t>& slabs) {
  AQUA_TRY(detail::Internals::impl(runtime).check_process());
  auto parts = std::make_unique<Parts>(runtime);
  AQUA_TRY(parts->slabs.reserve(slabs));
  AQUA_TRY(parts->slabs.create_all(device::SlabUse::publish));
  AQUA_TRY(parts->slabs.map(device::MapAccess::read_write));
  parts->created = true;
  return PublishedMemory(std::move(parts));
}

Result<PublishedMemory> PublishedMemory::open(Runtime& runtime,
                                              const std::vector<SlabDescriptor>& slabs) {
  AQUA_TRY(detail::Internals::impl(runtime).check_process());
  auto parts = std::make_unique<Parts>(runtime);
  AQUA_TRY(parts->slabs.reserve(runtime::sizes_of(slabs)));
  AQUA_TRY(parts->import(slabs));
  parts->sealed = true;
  return PublishedMemory(std::move(parts));
}

std::string PublishedMemory::device_of(Runtime& runtime) {
  return to_string(detail::Internals::impl(runtime).device().info().uuid);
}

std::string PublishedMemory::host_device() {
  return to_string(device::host_uuid());
}

std::byte* PublishedMemory::address() const noexcept {
  return parts_->slabs.base();
}
std::size_t PublishedMemory::bytes() const noexcept {
  return parts_->slabs.bytes();
}

Result<void> PublishedMemory::write(std::size_t offset, const std::byte* from, std::size_t bytes) {
  AQUA_TRY(parts_->slabs.check_inside("write", offset, bytes));
  if (parts_->sealed) {
    return Error{Code::permission_denied, "published memory: write: it is sealed"};
  }
  return parts_->slabs.copy(address() + offset, from, bytes);
}

Result<void> PublishedMemory::read(std::size_t offset, std::byte* to, std::size_t bytes) const {
  AQUA_TRY(parts_->slabs.check_inside("read", offset, bytes));
  return parts_->slabs.copy(to, address() + offset, bytes);
}

Result<WriteProtection> PublishedMemory::seal() {
  runtime::MappedSlabs& slabs = parts_->slabs;
  AQUA_TRY(slabs.check_process());
  if (!parts_->created) return not_now("published memory: seal: another process made it");
  AQUA_TRY(slabs.unmap());
  parts_->sealed = true;  // from here on nothing is mapped to be written again
  WriteProtection protection = WriteProtection::enforced;
  for (auto& place : slabs.places()) {
    AQUA_ASSIGN(protection, slabs.device().seal(*place.slab));
    if (!place.descriptor.valid()) {
      AQUA_ASSIGN(place.descriptor, slabs.device().export_slab(*place.slab));
    }
  }
  AQUA_TRY(slabs.map(device::MapAccess::read_only));
  return protection;
}

Result<std::vector<SlabDescriptor>> PublishedMemory::descriptors() const {
  if (!parts_->created) return not_now("published memory: another process made it");
  auto all = runtime::descriptors_of(parts_->slabs);
  if (all.size() < parts_->slabs.places().size()) {
    return not_now("published memory: it is not sealed");
  }
  return all;
}

Result<void> PublishedMemory::release() {
  AQUA_TRY(parts_->slabs.check_process());
  if (parts_->created) return not_now("published memory: release: this process made it");
  return parts_->slabs.let_go();
}

Result<void> PublishedMemory::reopen(const std::vector<SlabDescriptor>& slabs) {
  AQUA_TRY(parts_->slabs.check_process());
  const auto& places = parts_->slabs.places();
  const bool mapped =
      std::all_of(places.begin(), places.end(), [](const auto& place) { return place.mapped; });
  if (parts_->created || mapped) return not_now("published memory: reopen: it is mapped");
  AQUA_TRY(parts_->slabs.let_go());  // what an earlier failure has left
  return parts_->import(slabs);
}

}  // namespace aqua
