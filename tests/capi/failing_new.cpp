// SPDX-License-Identifier: Apache-2.0
#include "tests/capi/failing_new.hpp"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace aqua::test {
namespace {

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
thread_local std::size_t left = kNever;
thread_local bool has_failed = false;
thread_local bool stays_failed = false;
std::atomic<std::ptrdiff_t> live{0};

// Null when it is to fail.
void* take(std::size_t bytes, std::size_t alignment) {
  if (left != kNever && left-- == 0) {
    left = stays_failed ? 0 : kNever;
    has_failed = true;
    return nullptr;
  }
  void* const memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(bytes > 0 ? bytes : 1)
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return memory;
}
void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const memory = take(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void give(void* memory) {
  if (memory != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}
constexpr std::size_t kPlain = alignof(std::max_align_t);

}  // namespace

FailingNew::FailingNew(std::size_t successes, Failing failing) {
  has_failed = false;
  stays_failed = failing == Failing::from_then_on;
  left = successes;
}
FailingNew::~FailingNew() {
  left = kNever;
}
bool FailingNew::failed() const {
  return has_failed;
}
std::ptrdiff_t live_allocations() {
  return live.load();
}

}  // namespace aqua::test

using aqua::test::give;
using aqua::test::kPlain;
using aqua::test::take;
using aqua::test::take_or_throw;

void* operator new(std::size_t n) {
  return take_or_throw(n, kPlain);
}
void* operator new[](std::size_t n) {
  return take_or_throw(n, kPlain);
}
void* operator new(std::size_t n, std::align_val_t a) {
  return take_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return take_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return take(n, kPlain);
}
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return take(n, kPlain);
}
void operator delete(void* p) noexcept {
  give(p);
}
void operator delete[](void* p) noexcept {
  give(p);
}
void operator delete(void* p, std::size_t) noexcept {
  give(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  give(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  give(p);
}
void operator delete[](void* p, std::align_val_t) noexcept {
  give(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  give(p);
}
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  give(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
  give(p);
}
void operator delete[](void* p, const std::nothrow_t&) noexcept {
  give(p);
}
