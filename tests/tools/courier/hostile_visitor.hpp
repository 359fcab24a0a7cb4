// SPDX-License-Identifier: Apache-2.0
// One who connects to a courier with a peer's certificate, and is no courier.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "aqua/handoff/pools.hpp"
#include "aqua/handoff/segments.hpp"
#include "base/wake_event.hpp"
#include "tests/tools/courier/two_servers.hpp"
#include "tools/courier/net/link.hpp"

namespace aqua::courier {

class HostileVisitor : public ::testing::Test {
 protected:
  // What it says may come after the other side has closed.
  explicit HostileVisitor(const std::string& carrier = "tls") : servers_(20, carrier) {
    (void)::signal(SIGPIPE, SIG_IGN);
  }

  // As a peer, whose courier this is not.
  [[nodiscard]] Link connect() const {
    return Link::connect(*identity_, "127.0.0.1:" + servers_.port(), "b.test", never_.get())
        .value();
  }
  [[nodiscard]] Link greeted() const {
    Link link = connect();
    EXPECT_TRUE(
        link.say(Hello{.pool = "carried", .from = "prefill", .to = "decode", .index = 9}).ok());
    EXPECT_TRUE(std::holds_alternative<Welcome>(heard(link)));
    return link;
  }
  // Welcome also where nothing is heard any more.
  static Message heard(Link& link) {
    auto frame = link.receive();
    return frame.ok() && frame->message ? *std::move(frame->message) : Message(Welcome{});
  }
  static std::string code_of(const Message& message) {
    const auto* const refused = std::get_if<Refused>(&message);
    return refused == nullptr ? "not refused" : std::string(to_string(refused->error.code));
  }
  static Offer offer(std::uint64_t number, std::uint64_t bytes) {
    return {number,
            {.number = number,
             .id = "hostile",
             .turn = 7,
             .given = 7,
             .segment = {.number = 1, .generation = 1, .bytes = bytes},
             .tokens = 1}};
  }
  // Once the keeper has nothing of the hostile one, a parcel crosses.
  void all_is_well() {
    const auto decode = servers_.decode(2);
    while (!list_segments(servers_.keeper_of_b().socket()).value().empty())
      std::this_thread::yield();
    EXPECT_EQ(list_pools(servers_.keeper_of_b().socket()).value()[0].waiting, 0U);
    const auto prefill = servers_.prefill();
    ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");
    EXPECT_EQ(decode->ask("take 1"), "a");
    EXPECT_EQ(decode->ask("finish"), "ok");
    EXPECT_EQ(prefill->ask("delivered"), "confirmed");
  }

  mutable test::TwoServers servers_;
  const UniqueFd never_ = make_wake_event().value();
  const std::unique_ptr<MutualTls> identity_ =
      MutualTls::load(
          {{servers_.path("a.pem"), servers_.path("a.key")}, servers_.path("authority.pem")})
          .value();
};

}  // namespace aqua::courier
