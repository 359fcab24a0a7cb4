// SPDX-License-Identifier: Apache-2.0
#include "aqua/published_memory.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "device/own_stream.hpp"
#include "runtime/impl.hpp"

namespace aqua {
namespace {

template <typename... What>
Error bad(const What&... what) {
  return Error{Code::invalid_argument, concat("published memory: ", what...)};
}

Result<std::size_t> sum_of(const std::vector<std::size_t>& slabs, std::size_t granularity) {
  if (slabs.empty()) return bad("no slab");
  std::size_t sum = 0;
  for (const std::size_t bytes : slabs) {
    if (bytes == 0 || bytes % granularity != 0 || __builtin_add_overflow(sum, bytes, &sum)) {
      return bad("a slab of ", bytes, " bytes, which is no multiple of ", granularity);
    }
  }
  return sum;
}

std::vector<std::size_t> sizes_of(const std::vector<PublishedSlab>& slabs) {
  std::vector<std::size_t> sizes;
  sizes.reserve(slabs.size());
  for (const PublishedSlab& slab : slabs) sizes.push_back(slab.bytes);
  return sizes;
}

Result<std::unique_ptr<device::Slab>> import(device::Device& device, const PublishedSlab& slab) {
  UniqueFd copy(::fcntl(slab.descriptor, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return errno_error("published memory: a descriptor");
  return device.import_slab(std::move(copy), slab.bytes, device::SlabUse::publish);
}

}  // namespace

// Slabs lie one after another in the range; each is mapped or not, and how, is told by `mapped`.
struct PublishedMemory::Parts {
  struct Place {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    std::unique_ptr<device::Slab> slab{};  // null: released
    bool mapped = false;
    UniqueFd descriptor{};  // after seal()
  };

  Parts(Runtime of, device::Device& on) : runtime(std::move(of)), device(on) {}

  [[nodiscard]] Result<void> reserve(const std::vector<std::size_t>& sizes) {
    AQUA_ASSIGN(const std::size_t sum, sum_of(sizes, device.info().granularity));
    AQUA_ASSIGN(range, device.reserve(sum));
    AQUA_ASSIGN(stream, device::OwnStream::create(device));
    AQUA_ASSIGN(event, device.create_event());
    std::size_t offset = 0;
    for (const std::size_t bytes : sizes) {
      places.push_back({.offset = offset, .bytes = bytes});
      offset += bytes;
    }
    return {};
  }
  [[nodiscard]] Result<void> map(device::MapAccess access) {
    for (Place& place : places) {
      if (place.mapped) continue;
      AQUA_TRY(device.map(*range, place.offset, *place.slab, access));
      place.mapped = true;
    }
    return {};
  }
  [[nodiscard]] Result<void> unmap() {
    for (Place& place : places) {
      if (!place.mapped) continue;
      AQUA_TRY(device.unmap(*range, place.offset, place.bytes));
      place.mapped = false;
    }
    return {};
  }
  // All or nothing.
  [[nodiscard]] Result<void> import_all(const std::vector<PublishedSlab>& slabs) {
    std::vector<std::unique_ptr<device::Slab>> imported;
    for (const PublishedSlab& slab : slabs) {
      AQUA_ASSIGN(auto one, import(device, slab));
      imported.push_back(std::move(one));
    }
    for (std::size_t i = 0; i < places.size(); ++i) places[i].slab = std::move(imported[i]);
    auto mapped = map(device::MapAccess::read_only);
    if (!mapped.ok()) (void)let_go();
    return mapped;
  }
  [[nodiscard]] Result<void> let_go() {
    AQUA_TRY(unmap());
    for (Place& place : places) place.slab.reset();
    return {};
  }
  [[nodiscard]] Result<void> check_inside(const char* call, std::size_t offset,
                                          std::size_t bytes) const {
    AQUA_TRY(detail::Internals::impl(runtime).check_process());
    if (offset > range->bytes() || bytes > range->bytes() - offset) {
      return bad(call, ": ", bytes, " bytes at ", offset, " of ", range->bytes());
    }
    for (const Place& place : places) {
      if (place.mapped) continue;
      return Error{Code::failed_precondition,
                   concat("published memory: ", call, ": nothing is mapped")};
    }
    return {};
  }
  [[nodiscard]] Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes == 0) return {};
    const MutexLock lock(copying);
    auto batch = std::make_shared<const std::vector<device::CopySegment>>(
        1, device::CopySegment{.dst = to, .src = from, .bytes = bytes});
    AQUA_TRY(device.copy(std::move(batch), *stream));
    AQUA_TRY(device.record(*event, *stream));
    return device.synchronize(*event);
  }

  mutable Runtime runtime;  // a view, which stays good when the runtime is moved
  device::Device& device;
  std::unique_ptr<device::AddressRange> range;
  std::vector<Place> places;
  bool created = false;  // here, and not elsewhere
  bool sealed = false;
  Mutex copying;  // one copy at a time: the stream, its event and the wait are one
  device::OwnStream stream;
  std::unique_ptr<device::Event> event;
};

PublishedMemory::PublishedMemory(std::unique_ptr<Parts> parts) noexcept
    : parts_(std::move(parts)) {}
PublishedMemory::PublishedMemory(PublishedMemory&&) noexcept = default;
PublishedMemory& PublishedMemory::operator=(PublishedMemory&&) noexcept = default;
PublishedMemory::~PublishedMemory() = default;

Result<PublishedMemory> PublishedMemory::create(Runtime& runtime,
                                                const std::vector<std::size_t>& slabs) {
  auto& impl = detail::Internals::impl(runtime);
  AQUA_TRY(impl.check_process());
  auto parts = std::make_unique<Parts>(detail::Internals::view(runtime), impl.device());
  AQUA_TRY(parts->reserve(slabs));
  for (Parts::Place& place : parts->places) {
    AQUA_ASSIGN(place.slab, impl.device().create_slab(place.bytes, device::SlabUse::publish));
  }
  AQUA_TRY(parts->map(device::MapAccess::read_write));
  parts->created = true;
  return PublishedMemory(std::move(parts));
}

Result<PublishedMemory> PublishedMemory::open(Runtime& runtime,
                                              const std::vector<PublishedSlab>& slabs) {
  auto& impl = detail::Internals::impl(runtime);
  AQUA_TRY(impl.check_process());
  auto parts = std::make_unique<Parts>(detail::Internals::view(runtime), impl.device());
  AQUA_TRY(parts->reserve(sizes_of(slabs)));
  AQUA_TRY(parts->import_all(slabs));
  parts->sealed = true;
  return PublishedMemory(std::move(parts));
}

std::string PublishedMemory::device_of(Runtime& runtime) {
  return to_string(detail::Internals::impl(runtime).device().info().uuid);
}

std::byte* PublishedMemory::address() const noexcept {
  return parts_->range->base();
}
std::size_t PublishedMemory::bytes() const noexcept {
  return parts_->range->bytes();
}

Result<void> PublishedMemory::write(std::size_t offset, const std::byte* from, std::size_t bytes) {
  AQUA_TRY(parts_->check_inside("write", offset, bytes));
  if (parts_->sealed) {
    return Error{Code::permission_denied, "published memory: write: it is sealed"};
  }
  return parts_->copy(address() + offset, from, bytes);
}

Result<void> PublishedMemory::read(std::size_t offset, std::byte* to, std::size_t bytes) const {
  AQUA_TRY(parts_->check_inside("read", offset, bytes));
  return parts_->copy(to, address() + offset, bytes);
}

Result<WriteProtection> PublishedMemory::seal() {
  Parts& parts = *parts_;
  AQUA_TRY(detail::Internals::impl(parts.runtime).check_process());
  if (!parts.created) {
    return Error{Code::failed_precondition, "published memory: seal: another process made it"};
  }
  AQUA_TRY(parts.unmap());
  parts.sealed = true;  // from here on nothing is mapped to be written again
  WriteProtection protection = WriteProtection::enforced;
  for (Parts::Place& place : parts.places) {
    AQUA_ASSIGN(protection, parts.device.seal(*place.slab));
    if (!place.descriptor.valid()) {
      AQUA_ASSIGN(place.descriptor, parts.device.export_slab(*place.slab));
    }
  }
  AQUA_TRY(parts.map(device::MapAccess::read_only));
  return protection;
}

Result<std::vector<PublishedSlab>> PublishedMemory::descriptors() const {
  std::vector<PublishedSlab> slabs;
  for (const Parts::Place& place : parts_->places) {
    if (!place.descriptor.valid()) {
      return Error{Code::failed_precondition, parts_->created
                                                  ? "published memory: it is not sealed"
                                                  : "published memory: another process made it"};
    }
    slabs.push_back({.descriptor = place.descriptor.get(), .bytes = place.bytes});
  }
  return slabs;
}

Result<void> PublishedMemory::release() {
  AQUA_TRY(detail::Internals::impl(parts_->runtime).check_process());
  if (parts_->created) {
    return Error{Code::failed_precondition, "published memory: release: this process made it"};
  }
  return parts_->let_go();
}

Result<void> PublishedMemory::reopen(const std::vector<PublishedSlab>& slabs) {
  Parts& parts = *parts_;
  AQUA_TRY(detail::Internals::impl(parts.runtime).check_process());
  const bool mapped = std::all_of(parts.places.begin(), parts.places.end(),
                                  [](const Parts::Place& place) { return place.mapped; });
  if (parts.created || mapped) {
    return Error{Code::failed_precondition, "published memory: reopen: it is mapped"};
  }
  bool alike = slabs.size() == parts.places.size();
  for (std::size_t i = 0; alike && i < slabs.size(); ++i) {
    alike = slabs[i].bytes == parts.places[i].bytes;
  }
  if (!alike) return bad("reopen: slabs of other sizes than before");
  AQUA_TRY(parts.let_go());  // what an earlier failure has left
  return parts.import_all(slabs);
}

}  // namespace aqua
