// SPDX-License-Identifier: Apache-2.0
// The room that a destination keeps for requests on their way to it.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "tests/examples/fleet/rig.hpp"
#include "tools/http/http_client.hpp"

namespace aqua::fleet::test {
namespace {

using router::test::becomes;
using router::test::request_of;

// So it is where an engine is drained. Had each of them room for all that it may grow by, the last
// would find none.
TEST(FleetRooms, AsManyFindRoomAtOnceAsFit) {
  constexpr int kRequests = 6;
  const Keeper keeper;
  const FleetEngine b(keeper, "engine-b", {"--iteration-ms", "10", "--blocks", "64"});
  std::vector<std::unique_ptr<http::HttpClient>> clients;
  std::vector<std::future<void>> streams;
  std::atomic<int> reserved{0}, failed{0};
  for (int i = 0; i < kRequests; ++i) {
    http::HttpClient& client = *clients.emplace_back(
        std::make_unique<http::HttpClient>(http::parse_url(b.url()).value(), http::HttpOptions{}));
    Json body = request_of(prompt_of(1), 1, 500);
    body["aqua"] = {
        {"request", "r" + std::to_string(i)}, {"turn", 2}, {"answered", 10}, {"receive", true}};
    streams.push_back(std::async(std::launch::async, [&, text = body.dump()] {
      (void)client.post("/v1/completions", text, [&](std::string_view said, auto) {
        reserved += said.find("reserved") != said.npos;
        failed += said.find("failed") != said.npos;
        return http::Heard::something;
      });
    }));
  }
  EXPECT_TRUE(becomes([&] { return reserved + failed == kRequests; }));
  EXPECT_EQ(reserved, kRequests);
  EXPECT_LE(b.metric("fleet_blocks_of_rooms"), 64);
  for (const auto& client : clients) client->stop();
  streams.clear();
  EXPECT_TRUE(becomes([&] { return b.holds_nothing(); }));
}

}  // namespace
}  // namespace aqua::fleet::test
