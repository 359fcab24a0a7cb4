// SPDX-License-Identifier: Apache-2.0
// Weights of another user's keeper.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "aqua/sharing/shared_weights.hpp"
#include "tests/keeper/keeper_of_another.hpp"
#include "tests/systems/sharing/small_runtime.hpp"

namespace aqua::sharing {
namespace {

TEST(WeightsOfAnotherUser, AreNotAttached) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  test::expect_other_users_are_refused([](const std::string& keeper) {
    Runtime runtime = open_small();
    const auto weights = SharedWeights::attach(runtime, {.model = "small", .keeper = keeper});
    return weights.ok() ? std::string("ok") : std::string(to_string(weights.error().code));
  });
}

}  // namespace
}  // namespace aqua::sharing
