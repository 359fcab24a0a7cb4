// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/carry/claims.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

namespace aqua::courier {
namespace {

bool is_signalled(int event) {
  pollfd polled{event, POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

TEST(CourierClaims, OfOneKindTheLaterOneBeginsWhenTheEarlierHasEnded) {
  Claims claims;
  const UniqueFd first = make_wake_event().value(), second = make_wake_event().value(),
                 other = make_wake_event().value();
  ASSERT_TRUE(claims.claim("a", first.get()).ok());
  ASSERT_TRUE(claims.claim("b", other.get()).ok());
  bool first_has_ended = false;
  std::thread earlier([&] {
    pollfd polled{first.get(), POLLIN, 0};
    while (::poll(&polled, 1, -1) != 1) continue;
    first_has_ended = true;
    claims.release("a");
  });
  ASSERT_TRUE(claims.claim("a", second.get()).ok());
  EXPECT_TRUE(first_has_ended);
  EXPECT_FALSE(is_signalled(second.get()));
  EXPECT_FALSE(is_signalled(other.get()));
  earlier.join();
  claims.release("a");
  EXPECT_TRUE(claims.claim("a", first.get()).ok());
}

TEST(CourierClaims, OfThoseThatWaitTheLastOneCounts) {
  Claims claims;
  const UniqueFd holder = make_wake_event().value(), second = make_wake_event().value(),
                 third = make_wake_event().value();
  ASSERT_TRUE(claims.claim("a", holder.get()).ok());
  Result<void> waited;
  std::thread waiting([&] { waited = claims.claim("a", second.get()); });
  Result<void> last;
  std::thread later([&] {
    pollfd polled{holder.get(), POLLIN, 0};
    while (::poll(&polled, 1, -1) != 1) continue;  // the second one waits by now
    last = claims.claim("a", third.get());
  });
  waiting.join();
  EXPECT_EQ(waited.error().code, Code::cancelled);
  claims.release("a");
  later.join();
  EXPECT_TRUE(last.ok());
}

TEST(CourierClaims, NobodyWaitsOnceAllEnd) {
  Claims claims;
  const UniqueFd holder = make_wake_event().value(), second = make_wake_event().value();
  ASSERT_TRUE(claims.claim("a", holder.get()).ok());
  Result<void> waited;
  std::thread waiting([&] { waited = claims.claim("a", second.get()); });
  pollfd polled{holder.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&polled, 1, 60'000), 1);
  claims.end();
  waiting.join();
  EXPECT_EQ(waited.error().code, Code::cancelled);
}

}  // namespace
}  // namespace aqua::courier
