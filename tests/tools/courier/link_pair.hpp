// SPDX-License-Identifier: Apache-2.0
// Two couriers' ends of one connection over loopback, which have greeted each other and agreed on a
// carrier. Tests of a carrier that this build has not are skipped.
//
// Threads: one; each end may have one of its own.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/wake_event.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/tls/certificate.hpp"
#include "tests/tools/courier/with_ucx.hpp"
#include "tools/courier/net/carrier_talk.hpp"
#include "tools/courier/net/link.hpp"
#include "tools/courier/net/sockets.hpp"

namespace aqua::courier {

inline CarrierChoice carrier_named(const std::string& name) {
  return name == "ucx" ? CarrierChoice::ucx : CarrierChoice::tls;
}

class LinkPair : public ::testing::TestWithParam<std::string> {
 protected:
  LinkPair() { (void)::signal(SIGPIPE, SIG_IGN); }

  void SetUp() override {
    AQUA_SKIP_WITHOUT_UCX(GetParam());
    connect(carrier_named(GetParam()), carrier_named(GetParam()));
    ASSERT_EQ(here_->is_over_tls(), GetParam() == "tls") << how_here_;
    ASSERT_EQ(there_->is_over_tls(), GetParam() == "tls") << how_there_;
  }

  // Both ends of a connection, before anything is said.
  Link accept() {
    const std::vector<std::string> names{"a.test"};
    return Link::accept(*b_, accept_next(listener_.get(), stop_there_.get()).value(), names,
                        stop_there_.get())
        .value();
  }
  Link connect() {
    return Link::connect(*a_, "127.0.0.1:" + std::to_string(port_of(listener_.get())), "b.test",
                         stop_here_.get())
        .value();
  }
  // Accepts who connects and agrees with him: `there`, once it has ended.
  std::future<void> begin_to_accept(CarrierChoice choice) {
    return std::async(std::launch::async, [this, choice] {
      Link link = accept();
      const auto hello = link.receive().value();
      how_there_ = welcome(link, choice, std::get<Hello>(*hello.message).ucx).value();
      there_.emplace(std::move(link));
    });
  }
  // `here` connects, `there` listens.
  void connect(CarrierChoice here, CarrierChoice there) {
    auto accepted = begin_to_accept(there);
    Link link = connect();
    CarrierOffer offer(link, CarrierHistory(here));
    EXPECT_TRUE(link.say(Hello{.pool = "p", .from = "f", .to = "t", .ucx = offer.point()}).ok());
    const auto answer = link.receive().value();
    how_here_ = offer.settle(link, std::get<Welcome>(*answer.message)).value();
    here_.emplace(std::move(link));
    accepted.get();
    for (Link* const each : {&*here_, &*there_}) each->greeted(std::chrono::seconds(60));
  }

  std::unique_ptr<MutualTls> identity(const std::string& name) {
    const std::string pem = dir_ / (name + ".pem"), key = dir_ / (name + ".key");
    authority_.issue(name, pem, key);
    return MutualTls::load({.identity = {pem, key}, .authority = dir_ / "authority.pem"}).value();
  }

  testing::TempDir dir_;
  const testing::Authority authority_{dir_ / "authority.pem"};
  const std::unique_ptr<MutualTls> a_ = identity("a.test"), b_ = identity("b.test");
  const UniqueFd stop_here_ = make_wake_event().value(), stop_there_ = make_wake_event().value();
  const UniqueFd listener_ = listen_at("127.0.0.1:0").value();
  std::optional<Link> here_, there_;
  std::string how_here_, how_there_;
};

}  // namespace aqua::courier
