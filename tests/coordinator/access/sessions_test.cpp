// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/sessions.hpp"

#include <gtest/gtest.h>

namespace aqua::coordinator {
namespace {

TEST(Sessions, SecretFindsItsClient) {
  Sessions sessions;
  const auto id = random_id<ClientTag>();
  sessions.open(random_id<ClientTag>(), 1, 0);
  const Session opened = sessions.open(id, 4711, 1000);
  const auto found = sessions.find(opened.secret);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->client, id);
  EXPECT_EQ(found->pid, 4711);
  EXPECT_EQ(found->uid, 1000U);
}

TEST(Sessions, NewSessionEndsTheFormerOne) {
  Sessions sessions;
  const auto id = random_id<ClientTag>();
  const Session former = sessions.open(id, 1, 0);
  const Session newer = sessions.open(id, 1, 0);
  EXPECT_NE(former.secret, newer.secret);
  EXPECT_FALSE(sessions.find(former.secret));
  EXPECT_TRUE(sessions.find(newer.secret));
}

TEST(Sessions, ClosedOrGuessedFindsNobody) {
  Sessions sessions;
  const Session opened = sessions.open(random_id<ClientTag>(), 1, 0);
  EXPECT_FALSE(sessions.find(random_id<SessionTag>()));
  EXPECT_FALSE(sessions.find(SessionSecret{}));
  sessions.close(opened.client);
  EXPECT_FALSE(sessions.find(opened.secret));
}

}  // namespace
}  // namespace aqua::coordinator
