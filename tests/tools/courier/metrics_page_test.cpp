// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/observe/metrics_page.hpp"

#include <gtest/gtest.h>
#include <httplib.h>

#include <chrono>
#include <memory>
#include <string>

#include "tests/base/eventually.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/tls/certificate.hpp"
#include "tests/tools/http/break_listener.hpp"
#include "tools/http/http_client.hpp"
#include "tools/http/metrics_text.hpp"

namespace aqua::courier {
namespace {

class CourierMetrics : public ::testing::Test {
 protected:
  // Its certificate ends in a day.
  std::unique_ptr<MutualTls> identity() {
    authority_.issue("a.test", dir_ / "a.pem", dir_ / "a.key");
    return MutualTls::load({{dir_ / "a.pem", dir_ / "a.key"}, dir_ / "authority.pem"}).value();
  }

  testing::TempDir dir_;
  const testing::Authority authority_{dir_ / "authority.pem"};
  const std::unique_ptr<MutualTls> identity_ = identity();
};

TEST_F(CourierMetrics, TellWhatWasCarriedAndWhetherAllConnectionsAreUp) {
  const test::KeeperProcess keeper;
  Counters counters;
  counters.sent = 3;
  counters.sent_bytes = 4096;
  RouteStates routes;
  routes.emplace_back("kv", "b.example", 2);
  routes.emplace_back("kv", "c.example", 1);
  routes.emplace_back("", "d.example", 1);
  routes.back().connected(/*over_ucx=*/true);
  routes.back().set_behind({2, 4096});
  routes.front().begins_to_send(4096);
  routes.front().has_sent(1024);
  routes.front().connected(/*over_ucx=*/false);
  routes.front().failed("nobody listens there");
  std::next(routes.begin())->connected(/*over_ucx=*/false);
  const auto page = MetricsPage::open("127.0.0.1:0", counters, routes, keeper.socket(), *identity_);
  ASSERT_TRUE(page.ok()) << page.error().message;
  http::HttpOptions options;
  options.url = "http://127.0.0.1:" + std::to_string((*page)->port());
  http::HttpClient client(http::parse_url(options.url).value(), options);
  const auto metrics = client.get("/metrics");
  ASSERT_TRUE(metrics.ok());
  EXPECT_EQ(http::metric_sum(metrics->body, "aqua_courier_parcels_sent_total"), 3);
  EXPECT_EQ(http::metric_sum(metrics->body, "aqua_courier_sent_bytes_total"), 4096);
  EXPECT_EQ(http::metric_sum(metrics->body, "aqua_courier_routes"), 4);
  EXPECT_EQ(http::metric_sum(metrics->body, "aqua_courier_routes_up"), 3);
  EXPECT_EQ(http::metric_sum(metrics->body, "aqua_courier_carriers"), 3);
  EXPECT_NE(
      metrics->body.find(R"(aqua_courier_carriers{pool="",peer="d.example",carrier="ucx"} 1)"),
      std::string::npos)
      << metrics->body;
  EXPECT_EQ(http::metric_sum(metrics->body, "aqua_courier_mirror_behind_bytes"), 4096);
  EXPECT_EQ(http::metric_sum(metrics->body, "aqua_courier_sending_bytes"), 3072);
  const auto day = std::chrono::system_clock::now() + std::chrono::hours(24);
  EXPECT_NEAR(
      http::metric_sum(metrics->body, "aqua_courier_certificate_expiry_timestamp_seconds").value(),
      static_cast<double>(std::chrono::system_clock::to_time_t(day)), 600);
  EXPECT_EQ(client.get("/readyz")->status, 503);
  EXPECT_EQ(client.get("/readyz")->body,
            "kv to b.example: 1 of 2 connections are up: nobody listens there\n");
  routes.front().connected(/*over_ucx=*/false);
  EXPECT_EQ(client.get("/readyz")->status, 200);
  // A server that only receives has these figures as well.
  EXPECT_NE(metrics_text(counters, {}, *identity_).find("aqua_courier_routes 0"),
            std::string::npos);
  EXPECT_EQ(
      readiness_text(counters, {}, keeper.socket()),
      std::pair(true, std::string("nothing is carried from here; 0 connections of others\n")));
  const auto [ready, text] = readiness_text(counters, routes, keeper.socket() + ".none");
  EXPECT_FALSE(ready);
  EXPECT_NE(text.find("aqua-keeper is to run"), std::string::npos) << text;
  EXPECT_EQ(MetricsPage::open("127.0.0.1:" + std::to_string((*page)->port()), counters, routes, "",
                              *identity_)
                .error()
                .code,
            Code::unavailable);
}

TEST_F(CourierMetrics, AreToldAgainAfterAnErrorOfAccept) {
  const Counters counters;
  const RouteStates routes;
  const auto page = MetricsPage::open("127.0.0.1:0", counters, routes, "", *identity_);
  ASSERT_TRUE(page.ok()) << page.error().message;
  test::break_listener((*page)->port());
  EXPECT_TRUE(test::eventually([&] {
    return static_cast<bool>(httplib::Client("127.0.0.1", (*page)->port()).Get("/metrics"));
  }));
}

}  // namespace
}  // namespace aqua::courier
