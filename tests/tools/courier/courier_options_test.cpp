// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tools/courier/net/sockets.hpp"
#include "tools/courier/options.hpp"

namespace aqua::courier {
namespace {

constexpr const char* kWhole = R"({
  "keeper": "/run/keeper.sock", "patience": 60, "certificate": "a.pem", "key": "a.key", "authority": "ca.pem",
  "listen": {"address": "[::]:7451", "peers": ["b.test"], "pools": ["smollm2"], "connections": 8},
  "carry": [{"pool": "smollm2", "from": "prefill", "to": "decode", "peer": "b.test",
             "address": "b.test:7451", "parcels": 16, "connections": 2}]})";

std::string replaced(const std::string& what, const std::string& by) {
  std::string text = kWhole;
  text.replace(text.find(what), what.size(), by);
  return text;
}

TEST(CourierOptions, AreReadWhole) {
  const auto options = parse_options(kWhole);
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->keeper, "/run/keeper.sock");
  EXPECT_EQ(options->files.identity.certificate, "a.pem");
  EXPECT_EQ(options->files.authority, "ca.pem");
  EXPECT_EQ(options->listener.address, "[::]:7451");
  EXPECT_EQ(options->listener.pools, std::vector<std::string>{"smollm2"});
  EXPECT_EQ(options->listener.connections, 8U);
  ASSERT_EQ(options->routes.size(), 1U);
  EXPECT_EQ(options->routes[0].to, "decode");
  EXPECT_EQ(options->routes[0].parcels, 16U);
  EXPECT_EQ(options->routes[0].connections, 2U);
  EXPECT_EQ(options->routes[0].patience, std::chrono::seconds(60));
  EXPECT_EQ(options->listener.patience, std::chrono::seconds(60));
}

TEST(CourierOptions, EachMistakeIsNamed) {
  const auto complaint = [](const std::string& what, const std::string& by) {
    const auto options = parse_options(replaced(what, by));
    return options.ok() ? "" : options.error().message;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(complaint(R"("key": "a.key",)", ""), "key is missing"));
  EXPECT_TRUE(has(complaint(R"("key":)", R"("kye":)"), "key is missing; unknown key 'kye'"));
  EXPECT_TRUE(has(complaint(R"("keeper")", R"("kepper")"), "unknown key 'kepper'"));
  EXPECT_TRUE(has(complaint(R"("[::]:7451")", R"("7451")"), "listen: address"));
  EXPECT_TRUE(has(complaint(R"(["b.test"])", "[]"), "nobody may connect"));
  EXPECT_TRUE(has(complaint(R"(["b.test"])", "[4]"), "peers is not a list"));
  EXPECT_TRUE(has(complaint(R"("pool": "smollm2")", R"("pool": "")"), "carry[0]: pool"));
  EXPECT_TRUE(has(complaint(R"("keeper")", R"("metrics": "9464", "keeper")"), "metrics is not"));
  EXPECT_TRUE(has(complaint(R"("parcels": 16)", R"("parcels": 0)"), "parcels"));
  EXPECT_TRUE(has(complaint(R"("patience": 60)", R"("patience": 0)"), "patience"));
  EXPECT_TRUE(has(complaint(R"("parcels": 16)", R"("parcels": 1e999)"), "not JSON"));
  EXPECT_TRUE(has(complaint(R"("peer": "b.test",)", ""), "carry[0]: peer"));
  const std::string route =
      R"({"pool": "smollm2", "from": "prefill", "to": "decode", "peer": "b.test", )"
      R"("address": "elsewhere:1"}, )";
  EXPECT_TRUE(has(complaint(R"("carry": [)", R"("carry": [)" + route), "there twice"));
  EXPECT_TRUE(has(complaint(R"("connections": 2})", R"("connections": 60})"), "68 connections"));
  EXPECT_EQ(parse_options("{").error().code, Code::invalid_argument);
  EXPECT_TRUE(has(complaint(R"("certificate")", "certificate"), "line 2, column")) << kWhole;
  EXPECT_TRUE(
      has(parse_options(R"({"certificate": "a", "key": "b", "authority": "c"})").error().message,
          "nothing to do"));
  EXPECT_TRUE(has(parse_options(R"({"certificate": "a", "key": "b", "authority": "c", "cary": []})")
                      .error()
                      .message,
                  "cary"));
  const std::string mirror = R"({"peer": "b.test", "address": "b.test:1"})";
  const auto mirrors = [](const std::string& list) {
    return parse_options(R"({"certificate": "a", "key": "b", "authority": "c", "mirror": [)" +
                         list + "]}");
  };
  EXPECT_EQ(mirrors(mirror)->mirrors.at(0).peer, "b.test");
  EXPECT_TRUE(has(mirrors(mirror + "," + mirror).error().message, "b.test is there twice"));
  EXPECT_TRUE(has(mirrors(R"({"peer": "b.test"})").error().message, "mirror[0]: address"));
  EXPECT_TRUE(has(complaint(R"("peers": [)", R"("peers": ["10.0.0.1", )"), "no DNS name"));
}

TEST(CourierOptions, UcxWantsANetworkThatIsSaidToBeTrusted) {
  const auto carrier = [](const std::string& keys) {
    return parse_options(replaced(R"("keeper")", keys + R"("keeper")"));
  };
  EXPECT_EQ(carrier("")->carrier, CarrierChoice::tls);
  EXPECT_EQ(carrier(R"("trusted_network": true, )")->carrier, CarrierChoice::automatic);
  EXPECT_EQ(carrier(R"("trusted_network": true, "carrier": "tls", )")->carrier, CarrierChoice::tls);
  const auto forced = carrier(R"("trusted_network": true, "carrier": "ucx", )");
  ASSERT_TRUE(forced.ok()) << forced.error().message;
  EXPECT_EQ(forced->carrier, CarrierChoice::ucx);
  EXPECT_EQ(forced->listener.carrier, CarrierChoice::ucx);
  EXPECT_EQ(forced->routes.at(0).carrier, CarrierChoice::ucx);
  for (const char* const keys :
       {R"("carrier": "ucx", )", R"("carrier": "auto", )",
        R"("carrier": "ucx", "trusted_network": false, )",
        R"("carrier": "rdma", "trusted_network": true, )", R"("trusted_network": 1, )"}) {
    EXPECT_EQ(carrier(keys).error().code, Code::invalid_argument) << keys;
  }
  EXPECT_NE(carrier(R"("carrier": "ucx", )").error().message.find("say trusted_network"),
            std::string::npos);
}

TEST(CourierOptions, FilesLieBesideTheirs) {
  EXPECT_EQ(read_options("/nowhere/courier.json").error().code, Code::not_found);
}

TEST(CourierAddresses, AreOfAHostAndAPort) {
  EXPECT_EQ(parse_address("[fe80::1]:80")->host, "fe80::1");
  EXPECT_EQ(parse_address("gpu1:0")->port, "0");
  for (const char* const bad : {"", "gpu1", ":80", "gpu1:", "gpu1:65536", "gpu1:8o", "gpu1:-1"}) {
    EXPECT_FALSE(parse_address(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace aqua::courier
