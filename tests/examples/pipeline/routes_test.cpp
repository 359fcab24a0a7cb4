// SPDX-License-Identifier: Apache-2.0
#include "hosts/routes.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace aqua::pipeline {
namespace {

Options on_three_hosts() {
  Options options;
  options.hosts = 3;
  options.batch = 4;
  options.prefill = PipelineShape{2, 2};
  options.decode = PipelineShape{3, 1};
  options.replicate = true;
  return options;
}

// Prefill's stages on the first two, decode's on the third, the first and the second.
Placement as_begun() {
  return {.prefill = {0, 0, 1, 1}, .decode = {2, 0, 1}, .lost = {false, false, false}};
}

TEST(CourierRoutes, LeadToRanksOnOtherHostsAlone) {
  const auto file = courier_file(on_three_hosts(), as_begun(), 0, "/h0");
  ASSERT_EQ(file.at("carry").size(), 4U);  // of two ranks, to two that are elsewhere
  for (const auto& route : file.at("carry")) {
    EXPECT_NE(route.at("to"), "decode.1");
    EXPECT_EQ(route.at("peer"), route.at("to") == "decode.0" ? "h2.test" : "h1.test");
    EXPECT_EQ(route.at("parcels"), 4);
  }
  EXPECT_FALSE(courier_file(on_three_hosts(), as_begun(), 2, "/h2").contains("carry"));
}

TEST(CourierRoutes, OfALostHostLeadToItsSuccessor) {
  Placement placement = as_begun();
  placement.decode[0] = 0;
  placement.lost[2] = true;
  const auto of_h0 = courier_file(on_three_hosts(), placement, 0, "/h0");
  const auto of_h1 = courier_file(on_three_hosts(), placement, 1, "/h1");
  EXPECT_FALSE(of_h0.at("carry").empty());
  EXPECT_FALSE(of_h1.at("carry").empty());
  for (const auto& route : of_h0.at("carry")) EXPECT_EQ(route.at("to"), "decode.2");
  for (const auto& route : of_h1.at("carry")) EXPECT_EQ(route.at("peer"), "h0.test");
}

TEST(CourierRoutes, ToAHostThatIsLostAreNone) {
  Placement placement = as_begun();
  placement.lost[2] = true;
  const auto file = courier_file(on_three_hosts(), placement, 1, "/h1");
  for (const auto& route : file.at("carry")) EXPECT_NE(route.at("peer"), "h2.test");
}

TEST(CourierRoutes, MirrorToTheNextHostThatIsNotLost) {
  Placement placement = as_begun();
  const auto mirrors_to = [&](unsigned host) {
    return courier_file(on_three_hosts(), placement, host, "/h").at("mirror").at(0).at("peer");
  };
  EXPECT_EQ(mirrors_to(1), "h2.test");
  EXPECT_EQ(mirrors_to(2), "h0.test");
  placement.lost[2] = true;
  EXPECT_EQ(mirrors_to(1), "h0.test");
  placement.lost[1] = true;
  EXPECT_FALSE(courier_file(on_three_hosts(), placement, 0, "/h0").contains("mirror"));
}

TEST(KvToSend, IsThatOfLayersWhoseStagesAreOnDifferentHosts) {
  Request request{.sequence = 1, .answer_tokens = 2};
  request.prompt.assign(10, 7);
  Request short_one = request;
  short_one.answer_tokens = 1;  // ends where its prompt was computed
  // Prefill has 4 and 3 of the 7 layers, decode 3, 2 and 2: layers 0 to 2 go from h0 to h2, layer 3
  // stays, layer 4 goes from h1 to h0, layers 5 and 6 stay.
  const std::uint64_t layer = 2 * 10 * 6 * 16;
  EXPECT_EQ(kv_to_send(on_three_hosts(), as_begun(), {request, short_one}),
            (std::vector<std::uint64_t>{3 * layer, layer, 0}));
}

}  // namespace
}  // namespace aqua::pipeline
