// SPDX-License-Identifier: Apache-2.0
#include "device/region_set.hpp"

#include <iterator>

namespace aqua::device {
namespace {

std::uintptr_t number(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

void RegionSet::add(const std::byte* address, std::size_t bytes) {
  if (bytes == 0) return;
  std::uintptr_t begin = number(address);
  std::uintptr_t end = begin + bytes;
  const MutexLock lock(mu_);
  cut(begin, end);
  auto next = ends_.lower_bound(begin);  // neighbours become one
  if (next != ends_.end() && next->first == end) {
    end = next->second;
    next = ends_.erase(next);
  }
  if (next != ends_.begin() && std::prev(next)->second == begin) {
    begin = std::prev(next)->first;
    ends_.erase(std::prev(next));
  }
  ends_.emplace(begin, end);
  empty_.store(false, std::memory_order_relaxed);
}

void RegionSet::remove(const std::byte* address, std::size_t bytes) {
  if (bytes == 0 || empty_.load(std::memory_order_relaxed)) return;
  const MutexLock lock(mu_);
  cut(number(address), number(address) + bytes);
  empty_.store(ends_.empty(), std::memory_order_relaxed);
}

void RegionSet::cut(std::uintptr_t begin, std::uintptr_t end) {
  auto it = ends_.upper_bound(begin);
  if (it != ends_.begin() && std::prev(it)->second > begin) it = std::prev(it);
  while (it != ends_.end() && it->first < end) {
    const auto [first, last] = *it;
    it = ends_.erase(it);
    if (first < begin) ends_.emplace(first, begin);
    if (last > end) ends_.emplace(end, last);
  }
}

bool RegionSet::touches(const std::byte* address, std::size_t bytes) const {
  if (bytes == 0 || empty_.load(std::memory_order_relaxed)) return false;
  const std::uintptr_t begin = number(address);
  const MutexLock lock(mu_);
  const auto next = ends_.lower_bound(begin + bytes);
  return next != ends_.begin() && std::prev(next)->second > begin;
}

bool RegionSet::covers(const std::byte* address, std::size_t bytes) const {
  if (bytes == 0) return true;
  const auto run = around(address);
  return run && number(address) + bytes <= run->second;
}

std::optional<std::pair<std::uintptr_t, std::uintptr_t>> RegionSet::around(
    const std::byte* address) const {
  if (empty_.load(std::memory_order_relaxed)) return std::nullopt;
  const MutexLock lock(mu_);
  const auto next = ends_.upper_bound(number(address));
  if (next == ends_.begin() || std::prev(next)->second <= number(address)) return std::nullopt;
  return *std::prev(next);
}

}  // namespace aqua::device
