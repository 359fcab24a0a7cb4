// SPDX-License-Identifier: Apache-2.0
#include "coordinator/common/memory_reserve.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace aqua::coordinator {
namespace {

TEST(MemoryReserve, IsForWhoMayUseItAndIsSetAsideAgain) {
  const std::new_handler former = std::get_new_handler();
  EXPECT_FALSE(memory_is_short());
  reserve_memory(std::size_t{1} << 20);
  EXPECT_FALSE(memory_is_short());
  const std::new_handler use = std::get_new_handler();
  EXPECT_THROW(use(), std::bad_alloc) << "this thread may not";
  for (int round = 0; round < 2; ++round) {
    {
      const MayUseReserve may;
      use();
      EXPECT_THROW(use(), std::bad_alloc) << "there is one";
    }
    EXPECT_THROW(use(), std::bad_alloc);
    EXPECT_FALSE(memory_is_short()) << "there is memory again";
  }
  std::set_new_handler(former);
}

}  // namespace
}  // namespace aqua::coordinator
