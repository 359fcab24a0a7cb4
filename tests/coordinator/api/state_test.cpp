// SPDX-License-Identifier: Apache-2.0
// What people and placers see, and what they must not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/daemon_process.hpp"
#include "tests/coordinator/raw_session.hpp"
#include "tests/southbound/peers.hpp"

namespace aqua::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StateReply, NeverHoldsASecret) {
  DaemonProcess daemon;
  Peer producer(daemon.address(), "producer", true);
  Peer consumer(daemon.address(), "consumer", false);
  const auto slabs = some_slabs(2);
  ASSERT_TRUE(producer.client->offer(slabs).ok());
  const auto grants = consumer.client->lease(kSlabBytes, kSlabBytes);
  ASSERT_TRUE(grants.ok());
  const RawSession other(daemon.address(), daemon.lifeline());
  ASSERT_EQ(other.join().status, 200);
  for (const char* target :
       {"/v1/state", "/v1/pairs", "/v1/clients/self", "/v1/watch", "/v1/info"}) {
    const auto [status, body] = other.call("GET", target);
    EXPECT_EQ(status, 200) << target << ": " << body;
    for (const auto& slab : slabs)
      EXPECT_THAT(body, Not(HasSubstr(to_string(slab.secret)))) << target;
    EXPECT_THAT(body, Not(HasSubstr(to_string(other.lifeline.welcome.secret)))) << target;
  }
  // The secrets are of slabs that are told of.
  EXPECT_THAT(other.call("GET", "/v1/state").body, HasSubstr(to_string(producer.id)));
  EXPECT_THAT(daemon.log(), Not(HasSubstr(to_string(slabs[0].secret))));
  EXPECT_THAT(daemon.log(), Not(HasSubstr(to_string(other.lifeline.welcome.secret))));
}

TEST(StateReply, EveryReplyCarriesTheEpoch) {
  DaemonProcess daemon;
  const RawSession session(daemon.address(), daemon.lifeline());
  const std::string epoch = to_string(session.lifeline.welcome.epoch);
  for (const auto& [method, target] : {std::pair{"GET", "/v1/info"},
                                       {"GET", "/v1/state"},
                                       {"GET", "/nope"},
                                       {"GET", "/healthz"},
                                       {"POST", "/v1/leases"},
                                       {"DELETE", "/v1/clients/self"},
                                       {"PATCH", "/v1/leases"}}) {
    EXPECT_THAT(session.call(method, target).body, HasSubstr("\"epoch\":\"" + epoch + "\""))
        << method << " " << target;
  }
}

}  // namespace
}  // namespace aqua::testing
