// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/watch_hub.hpp"

#include <gtest/gtest.h>

namespace aqua::coordinator {
namespace {

// A watch that ends by its timeout while its answer is on the way.
TEST(WatchHub, ForgetsAWatchAndNeverANewerOneOfTheSameClient) {
  WatchHub hub;
  const auto client = random_id<ClientTag>();
  const auto older = hub.add(client, 1);
  EXPECT_EQ(hub.remove(client), older);
  const auto newer = hub.add(client, 2);
  hub.forget(client, older);
  EXPECT_EQ(hub.size(), 1U);
  hub.forget(client, newer);
  EXPECT_EQ(hub.size(), 0U);
  hub.forget(client, newer);
}

}  // namespace
}  // namespace aqua::coordinator
