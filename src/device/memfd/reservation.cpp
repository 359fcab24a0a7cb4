// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/reservation.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

#include "base/concat.hpp"
#include "device/memfd/closed_arena.hpp"
#include "device/memfd/limits.hpp"
#include "device/memfd/no_access.hpp"

namespace aqua::device {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 20;
constexpr std::size_t kMostPieces = 8;

// Takes the pages out of mappings that are about to go, on several threads. Replacing or ending a
// mapping does the same on one, and holds up what else the process maps meanwhile. The bytes stay
// where they are: in a file, or nowhere.
void take_pages_out(std::byte* address, std::size_t bytes) noexcept {
  const std::size_t most =
      std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMostPieces);
  const std::size_t pieces = std::min(most, bytes / kPieceBytes);
  if (pieces < 2) return;
  const std::size_t piece = bytes / pieces / kGranularity * kGranularity;
  std::array<std::thread, kMostPieces> threads;
  try {
    for (std::size_t i = 1; i < pieces; ++i) {
      threads[i] = std::thread(::madvise, address + i * piece, piece, MADV_DONTNEED);
    }
  } catch (...) {  // no thread or no memory is left: it takes longer
  }
  (void)::madvise(address, piece, MADV_DONTNEED);
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

Error no_addresses(std::size_t bytes) {
  return Error{Code::resource_exhausted,
               concat("reserve: no ", bytes, " consecutive addresses left in this process")};
}

}  // namespace

Result<Reservation> Reservation::open(std::size_t bytes, std::size_t alignment) {
  std::byte* base = reserve_addresses(bytes, alignment);
  if (base == nullptr) return no_addresses(bytes);
  return Reservation(base, base, bytes);
}

Result<Reservation> Reservation::closed(std::size_t bytes, std::size_t alignment) {
  std::byte* base = alignment <= kClosedAlignment ? allocate_closed(bytes) : nullptr;
  if (base == nullptr) return no_addresses(bytes);
  return Reservation(base, closed_view(base), bytes);
}

Reservation::Reservation(Reservation&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), view_(other.view_), bytes_(other.bytes_) {}

Reservation::~Reservation() {
  if (base_ == nullptr) return;
  take_pages_out(view_, bytes_);
  if (view_ == base_) {
    ::munmap(base_, bytes_);
  } else if (make_hole(view_, bytes_)) {
    release_closed(base_, bytes_);
  }  // else the kernel is out of memory: losing the addresses is safer than reusing them
}

Result<void> Reservation::map_file(std::size_t offset, int fd, std::size_t bytes,
                                   bool inherited_by_children, bool writable) {
  std::byte* place = view_ + offset;
  // Populated at once: a device's memory has no page faults, and a tenth of a second of them
  // per GiB would otherwise land in the first copy.
  constexpr int kFlags = MAP_SHARED | MAP_FIXED | MAP_POPULATE;
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  if (::mmap(place, bytes, protection, kFlags, fd, 0) == MAP_FAILED) {
    const int error = errno;
    // A failed MAP_FIXED may have torn a gap where anything could be mapped next: msync() refuses a
    // place with a gap. At the most mappings of a process both fail, and change nothing.
    if (!make_hole(place, bytes) && ::msync(place, bytes, MS_ASYNC) != 0) std::abort();
    return Error{error == ENOMEM ? Code::resource_exhausted : Code::internal,
                 concat("map: ", bytes, " bytes: ", std::generic_category().message(error))};
  }
  if (!inherited_by_children && ::madvise(place, bytes, MADV_DONTFORK) != 0) {
    const int error = errno;
    if (!make_hole(place, bytes)) std::abort();
    return Error{Code::internal,
                 concat("map: MADV_DONTFORK: ", std::generic_category().message(error))};
  }
  ::madvise(place, bytes, MADV_HUGEPAGE);  // faster where the server allows it; never required
  return {};
}

Result<void> Reservation::clear(std::size_t offset, std::size_t bytes) {
  take_pages_out(view_ + offset, bytes);
  if (make_hole(view_ + offset, bytes)) return {};
  return Error{Code::resource_exhausted,
               concat("unmap: ", bytes, " bytes: ", std::generic_category().message(errno))};
}

}  // namespace aqua::device
