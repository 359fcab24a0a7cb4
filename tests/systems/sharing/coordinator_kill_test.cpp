// SPDX-License-Identifier: Apache-2.0
// A coordinator that is killed while its engines publish and attach weights: they go on, and it has
// them again when it is back.
#include <gtest/gtest.h>

#include <string>

#include "tests/keeper/mortal_coordinator.hpp"

namespace aqua::sharing {
namespace {

class CoordinatorKilledAtStep : public test::MortalCoordinator,
                                public ::testing::WithParamInterface<std::string> {};
const auto kNamed = [](const auto& step) { return step.param; };

class CoordinatorOfAPublisher : public CoordinatorKilledAtStep {};
INSTANTIATE_TEST_SUITE_P(Killed, CoordinatorOfAPublisher,
                         ::testing::Values("seal", "publish", "commit"), kNamed);

TEST_P(CoordinatorOfAPublisher, IsNotMissed) {
  const Engine publisher = start_engine(), reader = start_engine();
  EXPECT_EQ(killed_at(GetParam(), *publisher, "publish 1 7"), "ok");
  EXPECT_EQ(reader->ask("attach -"), "1");
  EXPECT_EQ(reader->ask("check 7"), "ok");
  expect_each({publisher.get(), reader.get()}, "away");
  EXPECT_EQ(publisher->ask("publish 2 8"), "ok");
  EXPECT_EQ(reader->ask("check 7"), "ok") << "what it reads stays";
  EXPECT_EQ(reader->ask("attach -"), "2");
  EXPECT_EQ(reader->ask("check 8"), "ok");
  coordinator_.start();
  expect_each({publisher.get(), reader.get()}, "connected");
  EXPECT_EQ(reader->ask("check 8"), "ok");
}

class CoordinatorOfAReader : public CoordinatorKilledAtStep {};
INSTANTIATE_TEST_SUITE_P(Killed, CoordinatorOfAReader, ::testing::Values("attach", "map"), kNamed);

TEST_P(CoordinatorOfAReader, IsNotMissed) {
  const Engine publisher = start_engine(), reader = start_engine();
  ASSERT_EQ(publisher->ask("publish 1 7"), "ok");
  EXPECT_EQ(killed_at(GetParam(), *reader, "attach -"), "1");
  EXPECT_EQ(reader->ask("check 7"), "ok");
  EXPECT_EQ(reader->ask("suspend"), "ok");
  expect_each({reader.get()}, "away");
  EXPECT_EQ(reader->ask("resume"), "ok");
  EXPECT_EQ(reader->ask("check 7"), "ok");
  coordinator_.start();
  expect_each({publisher.get(), reader.get()}, "connected");
}

}  // namespace
}  // namespace aqua::sharing
