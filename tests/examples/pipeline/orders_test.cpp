// SPDX-License-Identifier: Apache-2.0
#include "serve/orders.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "fd.hpp"
#include "serve/resuming.hpp"
#include "serve/step.hpp"

namespace aqua::pipeline {
namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    read = example::Fd(ends[0]);
    write = example::Fd(ends[1]);
  }
  void say(const nlohmann::json& message) const {
    ASSERT_TRUE(example::write_line(write.get(), message));
  }
  example::Fd read{}, write{};
};

struct OrdersOfTwo : ::testing::Test {
  Pipe orchestrator{}, terms{};
  Orders orders{orchestrator.read.get(), terms.read.get()};
};

TEST_F(OrdersOfTwo, AreHeardFromBoth) {
  EXPECT_FALSE(orders.comes(std::chrono::milliseconds(0)));
  orchestrator.say(Order{.term = 1, .sequence = 7});
  EXPECT_EQ(orders.next()->get<Order>().sequence, 7U);
  EXPECT_FALSE(orders.rewire_comes());
  terms.say(Rewire{2});
  EXPECT_TRUE(orders.rewire_comes());
  EXPECT_EQ(orders.next()->get<Rewire>().listen, 2U);
}

// The orchestrator may hear of a term later than this process.
TEST_F(OrdersOfTwo, AreOfOneTermAndEndWithTheNext) {
  terms.say(Rewire{2});
  EXPECT_EQ(orders.next_of(1)->get<Rewire>().listen, 2U);
  orchestrator.say(Order{.term = 1, .sequence = 7});
  orchestrator.say(Survey{.term = 1, .sequences = {}});
  orchestrator.say(Connect{.term = 2, .sequences = {}});
  EXPECT_EQ(orders.next_of(2)->get<Connect>().term, 2U);
  terms.say(Rewire{3});
  EXPECT_EQ(orders.next_of(2)->get<Rewire>().listen, 3U);
}

TEST_F(OrdersOfTwo, HearOfNoTermThatSomebodysEndHasBegun) {
  orchestrator.say({{"last", true}});
  terms.say(Rewire{2});
  EXPECT_FALSE(orders.rewire_comes());
  EXPECT_FALSE(orders.comes(std::chrono::milliseconds(0)));
  orchestrator.write.reset();
  EXPECT_EQ(orders.next_of(1), std::nullopt);
}

}  // namespace
}  // namespace aqua::pipeline
