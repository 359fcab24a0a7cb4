// SPDX-License-Identifier: Apache-2.0
#include "coordinator/common/memory_reserve.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace aqua::coordinator {
namespace {

std::size_t reserve_bytes = 0;
std::atomic<void*> reserve{nullptr};  // nullptr: in use

void set_aside() {
  void* const memory = std::malloc(reserve_bytes);  // operator new would ask for it here
  void* in_use = nullptr;
  if (memory != nullptr && !reserve.compare_exchange_strong(in_use, memory)) std::free(memory);
}

// As a std::new_handler: returns when there is more memory than before.
void use_reserve() {
  void* const memory = reserve.exchange(nullptr);
  if (memory == nullptr) throw std::bad_alloc();
  std::free(memory);
}

}  // namespace

void reserve_memory(std::size_t bytes) {
  reserve_bytes = bytes;
  set_aside();
  std::set_new_handler(use_reserve);
}

bool memory_is_short() {
  if (reserve_bytes == 0 || reserve.load() != nullptr) return false;
  set_aside();
  return reserve.load() == nullptr;
}

}  // namespace aqua::coordinator
