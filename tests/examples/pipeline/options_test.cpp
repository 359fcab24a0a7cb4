// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <gmock/gmock.h>

#include "must.hpp"

namespace aqua::pipeline {
namespace {

TEST(PipelineOptions, NobodyStandsByForADaemon) {
  for (const char* const daemon : {kKeeper, kCourier, kServer, kCoordinator}) {
    Options options;
    options.replicate = true;
    options.two_servers = "certificates";
    options.kill = {std::string(daemon) + ":0@20%"};
    EXPECT_EQ(kills(options).size(), 1U) << daemon;
    options.kill = {std::string(daemon) + ":standby@20%"};
    EXPECT_THAT([&] { (void)kills(options); },
                ::testing::ThrowsMessage<example::Failure>("--kill " + options.kill[0] +
                                                           ": nobody stands by for a daemon"));
  }
}

}  // namespace
}  // namespace aqua::pipeline
