// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/observe/metrics_page.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tools/http/http_client.hpp"
#include "tools/http/metrics_text.hpp"

namespace aqua::courier {
namespace {

TEST(CourierMetrics, TellWhatWasCarriedAndWhetherAllConnectionsAreUp) {
  Counters counters;
  counters.sent = 3;
  counters.sent_bytes = 4096;
  counters.links_out = 1;
  const auto page = MetricsPage::open("127.0.0.1:0", counters, 2);
  ASSERT_TRUE(page.ok()) << page.error().message;
  http::HttpOptions options;
  options.url = "http://127.0.0.1:" + std::to_string((*page)->port());
  http::HttpClient client(http::parse_url(options.url).value(), options);
  const auto metrics = client.get("/metrics");
  ASSERT_TRUE(metrics.ok());
  EXPECT_EQ(http::metric_sum(metrics->body, "aqua_courier_parcels_sent_total"), 3);
  EXPECT_EQ(http::metric_sum(metrics->body, "aqua_courier_sent_bytes_total"), 4096);
  EXPECT_EQ(http::metric_sum(metrics->body, "aqua_courier_routes"), 2);
  EXPECT_EQ(client.get("/readyz")->status, 503);
  counters.links_out = 2;
  EXPECT_EQ(client.get("/readyz")->status, 200);
  EXPECT_EQ(
      MetricsPage::open("127.0.0.1:" + std::to_string((*page)->port()), counters, 0).error().code,
      Code::unavailable);
}

}  // namespace
}  // namespace aqua::courier
