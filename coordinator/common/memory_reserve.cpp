// SPDX-License-Identifier: Apache-2.0
#include "coordinator/common/memory_reserve.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace aqua::coordinator {
namespace {

std::size_t reserve_bytes = 0;
std::atomic<void*> reserve{nullptr};  // nullptr: in use
std::atomic<bool> refused{false};     // since memory was last found
thread_local bool may_use = false;

void set_aside() {
  void* const memory = std::malloc(reserve_bytes);  // operator new would ask for it here
  void* in_use = nullptr;
  if (memory != nullptr && !reserve.compare_exchange_strong(in_use, memory)) std::free(memory);
}

// As a std::new_handler: returns when there is more memory than before.
void use_reserve() {
  refused.store(true);
  void* const memory = may_use ? reserve.exchange(nullptr) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  std::free(memory);
}

bool some_is_left() {
  // Volatile: a compiler may leave out a malloc() whose memory is only freed, and take it to
  // succeed.
  void* volatile memory = std::malloc(reserve_bytes / 8);
  const bool found = memory != nullptr;
  std::free(memory);
  return found;
}

}  // namespace

void reserve_memory(std::size_t bytes) {
  reserve_bytes = bytes;
  set_aside();
  std::set_new_handler(use_reserve);
}

MayUseReserve::MayUseReserve() {
  may_use = true;
}

MayUseReserve::~MayUseReserve() {
  may_use = false;
}

bool memory_is_short() {
  if (reserve_bytes == 0 || (!refused.load() && reserve.load() != nullptr)) return false;
  if (reserve.load() == nullptr) set_aside();
  const bool found = reserve.load() != nullptr && some_is_left();
  refused.store(!found);
  return !found;
}

}  // namespace aqua::coordinator
