// SPDX-License-Identifier: Apache-2.0
// Engines of two users at one coordinator: whoever lends could read what the other stores there.
#include <gtest/gtest.h>

#include "tests/coordinator/in_memory.hpp"
#include "wire/slabs.hpp"
#include "wire/state.hpp"

namespace aqua::testing {
namespace {

struct Users : ::testing::Test {
  // The status of an engine's request, a process of user `uid`.
  int ask(const std::string& target, const ClientId& id, std::uint32_t uid,
          const std::string& body) {
    const coordinator::Peer peer{true, uid, coordinator::Role::engine};
    return status_of_reply(http.ask("POST", target, proof_of(id, uid), body, peer));
  }
  ClientId join(std::uint32_t uid, bool producer) {
    wire::JoinRequest request;
    request.info.id = random_id<ClientTag>();
    request.info.device = random_id<DeviceTag>();
    request.info.producer = producer;
    request.info.consumer = !producer;
    request.info.uid = 1000;  // whatever it says
    EXPECT_EQ(ask("/v1/clients", request.info.id, uid, wire::encode(request)), 200);
    return request.info.id;
  }
  int lease(const ClientId& consumer, std::uint32_t uid) {
    return ask("/v1/leases", consumer, uid, R"({"bytes":1,"exit_bytes":4096})");
  }
  std::string proof_of(const ClientId& id, std::uint32_t uid) {
    auto& secret = secrets[id];
    if (secret.empty()) secret = to_string(http.sessions.open(id, 1, uid).secret);
    return "Aqua-Session: " + secret + "\r\n";
  }

  InMemory http;
  std::map<ClientId, std::string> secrets;
};

TEST_F(Users, ALenderOfAnotherUserIsNobodysLender) {
  const ClientId lender = join(65534, true);
  wire::OfferRequest offer;
  offer.slabs = {{.index = 0, .bytes = 4096, .secret = random_id<LeaseTag>(), .holder = {}}};
  ASSERT_EQ(ask("/v1/offers", lender, 65534, wire::encode(offer)), 200);
  const ClientId victim = join(1000, false);
  EXPECT_EQ(lease(victim, 1000), 503);
  EXPECT_EQ(status_of_reply(http.ask("PUT", "/v1/pairs", "",
                                     wire::encode(wire::PairRequest{{lender, victim}}))),
            409);
  EXPECT_EQ(lease(join(65534, false), 65534), 200);
}

}  // namespace
}  // namespace aqua::testing
