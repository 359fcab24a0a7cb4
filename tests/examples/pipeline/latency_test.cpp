// SPDX-License-Identifier: Apache-2.0
#include "play/latency.hpp"

#include <gtest/gtest.h>

namespace aqua::pipeline {
namespace {

TEST(PipelineLatency, IsTheMeanOfAllRequestsOrOfThoseThatAreNamed) {
  const Latencies all{{0, 1.0}, {1, 2.0}, {2, 6.0}};
  EXPECT_DOUBLE_EQ(mean_latency(all), 3.0);
  EXPECT_DOUBLE_EQ(mean_latency(all, {1, 2}).value(), 4.0);
  EXPECT_DOUBLE_EQ(mean_latency(Latencies{}), 0.0);
}

TEST(PipelineLatency, OfNoRequestAndOfOneThatHasNotEndedThereIsNone) {
  const Latencies all{{0, 1.0}, {1, 2.0}};
  EXPECT_FALSE(mean_latency(all, {}).has_value());
  EXPECT_FALSE(mean_latency(all, {1, 2}).has_value());
}

}  // namespace
}  // namespace aqua::pipeline
