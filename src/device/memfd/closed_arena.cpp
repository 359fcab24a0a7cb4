// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/closed_arena.hpp"

#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>

#include "base/mutex.hpp"
#include "device/memfd/no_access.hpp"

namespace aqua::device {
namespace {

constexpr std::size_t kLargestArena = std::size_t{256} << 30;
constexpr std::size_t kSmallestArena = std::size_t{1} << 30;

// Written once, before the first closed address is handed out.
std::atomic<std::uintptr_t> closed_base{0};
std::atomic<std::size_t> closed_bytes{0};
std::atomic<std::size_t> closed_delta{0};

// Which parts are free, first fit.
class Arena {
 public:
  static Arena& instance() {
    static auto* arena = new Arena;
    return *arena;
  }

  std::byte* allocate(std::size_t bytes) {
    const std::size_t wanted = bytes + kClosedAlignment;
    if (wanted < bytes) return nullptr;
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
    std::size_t room = bytes + kClosedAlignment;
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
      base_ = reserve_addresses(2 * bytes, kClosedAlignment);
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

}  // namespace

std::byte* allocate_closed(std::size_t bytes) {
  return Arena::instance().allocate(bytes);
}

void release_closed(const std::byte* address, std::size_t bytes) {
  Arena::instance().release(address, bytes);
}

std::byte* closed_view(std::byte* address) noexcept {
  const std::size_t bytes = closed_bytes.load(std::memory_order_acquire);
  const std::uintptr_t offset =
      reinterpret_cast<std::uintptr_t>(address) - closed_base.load(std::memory_order_relaxed);
  return offset < bytes ? address + closed_delta.load(std::memory_order_relaxed) : address;
}

}  // namespace aqua::device
