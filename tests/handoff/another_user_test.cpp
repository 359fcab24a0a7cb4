// SPDX-License-Identifier: Apache-2.0
// A KV pool of another user's keeper.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/handoff/stamped_pool.hpp"
#include "tests/keeper/keeper_of_another.hpp"

namespace aqua {
namespace {

TEST(PoolOfAnotherUser, IsNotJoined) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  test::expect_other_users_are_refused([](const std::string& keeper) {
    Runtime gpu = open_small_gpu();
    const auto pool = KvPool::attach(gpu, small_pool(keeper, "prefill"));
    return pool.ok() ? std::string("ok") : std::string(to_string(pool.error().code));
  });
}

}  // namespace
}  // namespace aqua
