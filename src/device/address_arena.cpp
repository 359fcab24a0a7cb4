#include "device/address_arena.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "base/concat.hpp"
#include "base/mutex.hpp"

namespace aqua::device {
namespace {

constexpr int kHole = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
constexpr std::size_t kLargestArena = std::size_t{256} << 30;
constexpr std::size_t kSmallestArena = std::size_t{1} << 30;
constexpr std::size_t kArenaAlignment = std::size_t{2} << 20;

// Written once, before the first closed address is handed out.
std::atomic<std::uintptr_t> closed_base{0};
std::atomic<std::size_t> closed_bytes{0};
std::atomic<std::size_t> closed_delta{0};

// Null when the kernel refuses. The caller owns an aligned range without access.
std::byte* reserve_addresses(std::size_t bytes, std::size_t alignment) {
  const std::size_t padded = bytes + alignment;
  if (padded < bytes) return nullptr;
  void* raw = ::mmap(nullptr, padded, PROT_NONE, kHole, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(raw);
  const std::size_t head =
      (alignment - reinterpret_cast<std::uintptr_t>(first) % alignment) % alignment;
  if (head > 0) ::munmap(first, head);
  if (alignment > head) ::munmap(first + head + bytes, alignment - head);
  return first + head;
}

bool make_hole(std::byte* address, std::size_t bytes) {
  return ::mmap(address, bytes, PROT_NONE, kHole | MAP_FIXED, -1, 0) != MAP_FAILED;
}

// The arena pair: which parts of it are free, first fit. A gap follows every allocation, so
// that running over its end faults.
class Arena {
 public:
  // Never destroyed: addresses may be in use until the process ends.
  static Arena& instance() {
    static auto* arena = new Arena;
    return *arena;
  }

  // Null when there is no such room.
  std::byte* allocate(std::size_t bytes, std::size_t alignment) {
    const std::size_t wanted = bytes + kArenaAlignment;
    if (alignment > kArenaAlignment || wanted < bytes) return nullptr;
    const MutexLock lock(mu_);
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      const auto [offset, room] = *it;
      if (room < wanted) continue;
      free_.erase(it);
      if (room > wanted) free_.emplace(offset + wanted, room - wanted);
      return base_ + offset;
    }
    return nullptr;
  }

  void release(const std::byte* address, std::size_t bytes) {
    auto offset = static_cast<std::size_t>(address - base_);
    std::size_t room = bytes + kArenaAlignment;
    const MutexLock lock(mu_);
    const auto next = free_.lower_bound(offset);
    if (next != free_.end() && next->first == offset + room) {
      room += next->second;
      free_.erase(next);
    }
    const auto after = free_.lower_bound(offset);
    if (after != free_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == offset) {
        before->second += room;
        return;
      }
    }
    free_.emplace(offset, room);
  }

 private:
  Arena() {
    for (std::size_t bytes = kLargestArena; bytes >= kSmallestArena; bytes /= 2) {
      // One range, halved: the views follow the closed addresses directly.
      base_ = reserve_addresses(2 * bytes, kArenaAlignment);
      if (base_ == nullptr) continue;
      closed_delta.store(bytes, std::memory_order_relaxed);
      closed_base.store(reinterpret_cast<std::uintptr_t>(base_), std::memory_order_relaxed);
      closed_bytes.store(bytes, std::memory_order_release);
      free_.emplace(0, bytes);
      return;
    }
  }

  std::byte* base_ = nullptr;
  Mutex mu_;
  std::map<std::size_t, std::size_t> free_ AQUA_GUARDED_BY(mu_);  // offset -> bytes
};

Error no_addresses(std::size_t bytes) {
  return Error{Code::resource_exhausted,
               concat("reserve: no ", bytes, " consecutive addresses left in this process")};
}

}  // namespace

std::byte* closed_view(std::byte* address) noexcept {
  const std::size_t bytes = closed_bytes.load(std::memory_order_acquire);
  const std::uintptr_t offset =
      reinterpret_cast<std::uintptr_t>(address) - closed_base.load(std::memory_order_relaxed);
  return offset < bytes ? address + closed_delta.load(std::memory_order_relaxed) : address;
}

Result<Reservation> Reservation::open(std::size_t bytes, std::size_t alignment) {
  std::byte* base = reserve_addresses(bytes, alignment);
  if (base == nullptr) return no_addresses(bytes);
  return Reservation(base, base, bytes);
}

Result<Reservation> Reservation::closed(std::size_t bytes, std::size_t alignment) {
  std::byte* base = Arena::instance().allocate(bytes, alignment);
  if (base == nullptr) return no_addresses(bytes);
  return Reservation(base, closed_view(base), bytes);
}

Reservation::Reservation(Reservation&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), view_(other.view_), bytes_(other.bytes_) {}

Reservation::~Reservation() {
  if (base_ == nullptr) return;
  if (view_ == base_) {
    ::munmap(base_, bytes_);
  } else if (make_hole(view_, bytes_)) {
    Arena::instance().release(base_, bytes_);
  }  // else the kernel is out of memory: losing the addresses is safer than reusing them
}

Result<void> Reservation::map_file(std::size_t offset, int fd, std::size_t bytes,
                                   bool inherited_by_children) {
  std::byte* place = view_ + offset;
  if (::mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
    const int error = errno;
    // A failed MAP_FIXED may have torn a gap where anything could be mapped next.
    if (!make_hole(place, bytes)) std::abort();
    return Error{error == ENOMEM ? Code::resource_exhausted : Code::internal,
                 concat("map: ", bytes, " bytes: ", std::strerror(error))};
  }
  if (!inherited_by_children && ::madvise(place, bytes, MADV_DONTFORK) != 0) {
    const int error = errno;
    if (!make_hole(place, bytes)) std::abort();
    return Error{Code::internal, concat("map: MADV_DONTFORK: ", std::strerror(error))};
  }
  ::madvise(place, bytes, MADV_HUGEPAGE);  // faster where the server allows it; never required
  return {};
}

Result<void> Reservation::clear(std::size_t offset, std::size_t bytes) {
  if (make_hole(view_ + offset, bytes)) return {};
  return Error{Code::resource_exhausted,
               concat("unmap: ", bytes, " bytes: ", std::strerror(errno))};
}

}  // namespace aqua::device
