// SPDX-License-Identifier: Apache-2.0
#include "serve/inbox.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

namespace aqua::fleet {
namespace {

TEST(FleetInbox, WhoArrivesAtAClosedOneIsRefusedAndSoIsWhoWasThere) {
  const auto before = std::make_shared<Outbox>(), after = std::make_shared<Outbox>();
  Inbox inbox;
  inbox.post(Arrival{{}, before});
  inbox.close();
  inbox.post(Arrival{{}, after});
  for (const auto& out : {before, after}) {
    EXPECT_TRUE(out->take(std::chrono::milliseconds(0)).ended);
    EXPECT_EQ(out->refusal(), "the engine has failed");
  }
  EXPECT_TRUE(inbox.take().empty());
}

}  // namespace
}  // namespace aqua::fleet
