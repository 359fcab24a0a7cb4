// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <utility>

#include "must.hpp"

namespace aqua::pipeline {
namespace {

using ::testing::ThrowsMessage;

TEST(PipelineOptions, NobodyStandsByForADaemon) {
  for (const char* const daemon : {kKeeper, kCourier, kServer, kCoordinator}) {
    Options options;
    options.replicate = true;
    if (std::string_view(daemon) != kKeeper) options.two_servers = "certificates";
    options.kill = {std::string(daemon) + ":0@20%"};
    EXPECT_EQ(kills(options).size(), 1U) << daemon;
    options.kill = {std::string(daemon) + ":standby@20%"};
    EXPECT_THAT([&] { (void)kills(options); },
                ThrowsMessage<example::Failure>("--kill " + options.kill[0] +
                                                ": nobody stands by for a daemon"));
  }
}

TEST(PipelineOptions, AHostIsLostOnceAndTakesItsDaemonsWithIt) {
  Options options;
  options.hosts = 3;
  options.certificates = "certificates";
  options.replicate = options.standby = true;
  options.kill = {"host:2@70%", "courier:1@20%", "colocated:standby@30%"};
  EXPECT_EQ(kills(options).size(), 3U);
  for (const auto& [kill, why] :
       {std::pair("host:1@80%", "wants --hosts, and a time, and to be said once"),
        std::pair("courier:3@80%", "wants --two-servers or --hosts, and a time"),
        std::pair("coordinator:0@80%", "each host has one: kill a host"),
        std::pair("keeper:0@80%",
                  "wants one server, with --replicate or --prefill, which has one keeper")}) {
    options.kill = {"host:2@70%", kill};
    EXPECT_THAT([&] { (void)kills(options); },
                ThrowsMessage<example::Failure>(std::string("--kill ") + kill + ": " + why));
  }
  options.kill.clear();
  options.cut = {"host:2@70%"};
  EXPECT_TRUE(kills(options).front().cuts);
  options.cut = {"colocated:0@70%"};
  EXPECT_THAT([&] { (void)kills(options); },
              ThrowsMessage<example::Failure>("--cut colocated:0@70%: hosts alone are cut off"));
  options.cut.clear();
  options.kill = {"host:3@70%"};
  EXPECT_THAT([&] { (void)kills(options); },
              ThrowsMessage<example::Failure>(
                  "--kill host:3@70%: wants --hosts, and a time, and to be said once"));
}

TEST(PipelineOptions, HostsAreThreeAtLeastAndHaveCertificates) {
  Options options;
  options.hosts = 2;
  EXPECT_THAT([&] { check_options(options); },
              ThrowsMessage<example::Failure>("--hosts wants three at least: an etcd of fewer ends "
                                              "with the first that is lost"));
  options.hosts = 3;
  EXPECT_THAT([&] { check_options(options); },
              ThrowsMessage<example::Failure>("--hosts wants --certificates"));
  options.certificates = "certificates";
  check_options(options);
  options.prefill = options.decode = PipelineShape{2, 3};
  EXPECT_THAT([&] { check_options(options); },
              ThrowsMessage<example::Failure>(
                  "--hosts: couriers have connections for 31 pairs of ranks at most"));
  options.prefill = options.decode = PipelineShape{2, 2};
  check_options(options);
  options.ttl_ms = 500;
  EXPECT_THAT([&] { check_options(options); },
              ThrowsMessage<example::Failure>(
                  "--hosts goes with none of --two-servers, --record and --ttl-ms"));
}

TEST(PipelineOptions, TheKeeperDiesAndIsStoppedWhereThereIsOne) {
  Options options;
  options.kill = {"keeper:0@20%", "keeper:0@streaming"};
  options.stop = {"keeper:0@taken"};
  const auto refused = ThrowsMessage<example::Failure>(
      "--kill keeper:0@20%: wants one server, with --replicate or --prefill, which has one keeper");
  EXPECT_THAT([&] { (void)kills(options); }, refused);
  options.prefill = options.decode = PipelineShape{1, 1};
  EXPECT_EQ(kills(options).size(), 3U);
  options.two_servers = "certificates";
  EXPECT_THAT([&] { (void)kills(options); }, refused);
}

TEST(PipelineOptions, AProcessKnowsWhatHappensToDaemonsWhereItGetsToAStep) {
  Options options;
  options.prefill = options.decode = PipelineShape{1, 2};
  options.place = {.pipeline = kDecode, .shape = {1, 2}, .rank = 1};
  options.directory = "/there";
  options.coordinator = "unix:/there/coordinator.sock";
  options.kill = {"decode:0:0@taking", "decode:0:1@taken", "keeper:0@streamed", "keeper:0@20%"};
  options.stop = {"coordinator:0@resumed"};
  const auto all = at_steps(options);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].step, "taken");
  EXPECT_EQ(all[0].daemon, "");
  EXPECT_EQ(all[1].step, "streamed");
  EXPECT_EQ(all[1].daemon, kKeeper);
  EXPECT_EQ(all[1].socket.string(), "/there/keeper.sock");
  EXPECT_EQ(all[2].daemon, kCoordinator);
  EXPECT_EQ(all[2].socket.string(), "/there/coordinator.sock");
  EXPECT_TRUE(all[2].stops);
}

}  // namespace
}  // namespace aqua::pipeline
