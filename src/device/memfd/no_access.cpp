// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/no_access.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace aqua::device {
namespace {

constexpr int kHole = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

}  // namespace

std::byte* reserve_addresses(std::size_t bytes, std::size_t alignment) noexcept {
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

bool make_hole(std::byte* address, std::size_t bytes) noexcept {
  return ::mmap(address, bytes, PROT_NONE, kHole | MAP_FIXED, -1, 0) != MAP_FAILED;
}

}  // namespace aqua::device
