// SPDX-License-Identifier: Apache-2.0
#include "runtime/mapped_slabs.hpp"

#include <fcntl.h>

#include <cerrno>
#include <new>
#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "runtime/impl.hpp"

namespace aqua::runtime {
namespace {

// The caller's buffer is in use until the stream has come to its end, also where an error or an
// exception keeps anybody from waiting for it.
class StreamEnds {
 public:
  StreamEnds(device::Device& device, Stream stream) : device_(device), stream_(stream) {}
  ~StreamEnds() {
    if (ended_) return;
    try {
      (void)device_.synchronize(stream_);
    } catch (const std::bad_alloc&) {  // for the text of an error: the device is dead
    }
  }
  StreamEnds(const StreamEnds&) = delete;
  StreamEnds& operator=(const StreamEnds&) = delete;
  void ended() { ended_ = true; }

 private:
  device::Device& device_;
  const Stream stream_;
  bool ended_ = false;
};

}  // namespace

MappedSlabs::MappedSlabs(Runtime& runtime, std::string what)
    : runtime_(detail::Internals::view(runtime)),
      what_(std::move(what)),
      device_(detail::Internals::impl(runtime).device()) {}

MappedSlabs::~MappedSlabs() {
  for (Place& place : places_) set_mapped(place, false);  // they go with the range
}

void MappedSlabs::set_mapped(Place& place, bool mapped) {
  if (place.mapped == mapped) return;
  place.mapped = mapped;
  detail::Internals::impl(runtime_).count_shared(place.bytes, mapped);
}

Result<void> MappedSlabs::reserve(const std::vector<std::size_t>& sizes) {
  const std::size_t granularity = device_.info().granularity;
  std::size_t sum = 0;
  for (const std::size_t bytes : sizes) {
    if (bytes == 0 || bytes % granularity != 0 || __builtin_add_overflow(sum, bytes, &sum)) {
      return Error{Code::invalid_argument, concat(what_, ": a slab of ", bytes,
                                                  " bytes, which is no multiple of ", granularity)};
    }
  }
  if (sum == 0) return Error{Code::invalid_argument, concat(what_, ": no slab")};
  AQUA_ASSIGN(range_, device_.reserve(sum));
  AQUA_ASSIGN(stream_, device::OwnStream::create(device_));
  AQUA_ASSIGN(event_, device_.create_event());
  std::size_t offset = 0;
  for (const std::size_t bytes : sizes) {
    places_.push_back({.offset = offset, .bytes = bytes});
    offset += bytes;
  }
  return {};
}

Result<void> MappedSlabs::create_all(device::SlabUse use) {
  for (Place& place : places_) {
    AQUA_ASSIGN(place.slab, device_.create_slab(place.bytes, use));
  }
  return {};
}

Result<void> MappedSlabs::import_all(const std::vector<SlabDescriptor>& slabs, device::SlabUse use,
                                     device::MapAccess access) {
  bool alike = slabs.size() == places_.size();
  for (std::size_t i = 0; alike && i < slabs.size(); ++i) {
    alike = slabs[i].bytes == places_[i].bytes;
  }
  if (!alike) {
    return Error{Code::invalid_argument, concat(what_, ": slabs of other sizes than before")};
  }
  std::vector<std::unique_ptr<device::Slab>> imported;
  for (const SlabDescriptor& slab : slabs) {
    UniqueFd copy(::fcntl(slab.descriptor, F_DUPFD_CLOEXEC, 0));
    if (!copy.valid()) return errno_error(concat(what_, ": a descriptor"));
    AQUA_ASSIGN(auto one, device_.import_slab(std::move(copy), slab.bytes, use));
    imported.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < places_.size(); ++i) places_[i].slab = std::move(imported[i]);
  auto mapped = map(access);
  if (!mapped.ok()) (void)let_go();
  return mapped;
}

Result<void> MappedSlabs::map(device::MapAccess access) {
  for (Place& place : places_) {
    if (place.mapped) continue;
    AQUA_TRY(device_.map(*range_, place.offset, *place.slab, access));
    set_mapped(place, true);
  }
  return {};
}

Result<void> MappedSlabs::unmap() {
  for (Place& place : places_) {
    if (!place.mapped) continue;
    AQUA_TRY(device_.unmap(*range_, place.offset, place.bytes));
    set_mapped(place, false);
  }
  return {};
}

Result<void> MappedSlabs::let_go() {
  AQUA_TRY(unmap());
  for (Place& place : places_) place.slab.reset();
  return {};
}

Result<void> MappedSlabs::check_process() const {
  return detail::Internals::impl(runtime_).check_process();
}

Result<void> MappedSlabs::check_inside(const char* call, std::size_t offset,
                                       std::size_t bytes) const {
  AQUA_TRY(check_process());
  if (offset > this->bytes() || bytes > this->bytes() - offset) {
    return Error{Code::invalid_argument, concat(what_, ": ", call, ": ", bytes, " bytes at ",
                                                offset, " of ", this->bytes())};
  }
  for (const Place& place : places_) {
    if (place.mapped) continue;
    return Error{Code::failed_precondition, concat(what_, ": ", call, ": nothing is mapped")};
  }
  return {};
}

Result<void> MappedSlabs::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return {};
  const MutexLock lock(copying_);
  AQUA_TRY(device_.copy(std::make_shared<const std::vector<device::CopySegment>>(
                            1, device::CopySegment{.dst = to, .src = from, .bytes = bytes}),
                        *stream_));
  return wait();
}

Result<void> MappedSlabs::scrub() {
  const MutexLock lock(copying_);
  AQUA_TRY(device_.scrub(base(), bytes(), *stream_));
  return wait();
}

Result<void> MappedSlabs::wait() {
  StreamEnds stream(device_, *stream_);
  AQUA_TRY(device_.record(*event_, *stream_));
  auto through = device_.synchronize(*event_);
  stream.ended();
  return through;
}

std::vector<std::size_t> sizes_of(const std::vector<SlabDescriptor>& slabs) {
  std::vector<std::size_t> sizes;
  sizes.reserve(slabs.size());
  for (const SlabDescriptor& slab : slabs) sizes.push_back(slab.bytes);
  return sizes;
}

std::vector<SlabDescriptor> descriptors_of(const MappedSlabs& slabs) {
  std::vector<SlabDescriptor> descriptors;
  for (const MappedSlabs::Place& place : slabs.places()) {
    if (!place.descriptor.valid()) continue;
    descriptors.push_back({.descriptor = place.descriptor.get(), .bytes = place.bytes});
  }
  return descriptors;
}

}  // namespace aqua::runtime
