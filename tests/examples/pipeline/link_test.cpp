// SPDX-License-Identifier: Apache-2.0
#include "serve/link.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "fd.hpp"
#include "serve/resuming.hpp"

namespace aqua::pipeline {
namespace {

class ListenerWithOrders : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    read_ = example::Fd(ends[0]);
    write_ = example::Fd(ends[1]);
    orders_.emplace(read_.get(), -1);
    listener_.emplace(socket_);
  }
  void TearDown() override { std::filesystem::remove(socket_); }

  void order(const nlohmann::json& message) {
    ASSERT_TRUE(example::write_line(write_.get(), message));
  }

  // Whoever connects to the listener there is taken, and what it sends arrives.
  void expect_taken(const std::string& address) {
    Link there = Link::connect("it", address);
    Link here = listener_->accept(*orders_);
    const int sent = 7;
    there.send_values(std::span(&sent, 1));
    int got = 0;
    here.receive_values(std::span(&got, 1));
    EXPECT_EQ(got, sent);
  }

  const std::filesystem::path socket_ = std::filesystem::path(::testing::TempDir()) /
                                        ("listener-" + std::to_string(::getpid()) + ".sock");
  example::Fd read_{}, write_{};
  std::optional<Orders> orders_{};
  std::optional<Listener> listener_{};
};

TEST_F(ListenerWithOrders, TakesWhoConnects) {
  expect_taken(socket_);
}

TEST_F(ListenerWithOrders, OfANetworkSaysItsPortAndTakesWhoConnectsThere) {
  listener_.emplace("127.0.0.1:0");
  EXPECT_TRUE(listener_->address().starts_with("127.0.0.1:"));
  EXPECT_FALSE(listener_->address().ends_with(":0"));
  expect_taken(listener_->address());
}

TEST_F(ListenerWithOrders, OfANetworkThatIsThereNoMoreIsNotReached) {
  listener_.emplace("127.0.0.1:0");
  const std::string address = listener_->address();
  listener_.reset();
  EXPECT_THROW((void)Link::connect("it", address), NeighbourGone);
}

TEST_F(ListenerWithOrders, ALinkToWhomNobodyAnswersIsGivenUpByWhatItWasGiven) {
  listener_.emplace("127.0.0.1:0");
  Link there =
      Link::connect("it", listener_->address(), [] { throw NeighbourGone("the term is over"); });
  int got = 0;
  EXPECT_THROW(there.receive_values(std::span(&got, 1)), NeighbourGone);
}

TEST_F(ListenerWithOrders, ALinkThatWaitsForTheOtherEndCallsWhatItWasGiven) {
  Link there = Link::connect("it", socket_);
  Link here = listener_->accept(*orders_);
  const int sent = 7;
  int got = 0;
  here.while_waiting([&] { there.send_values(std::span(&sent, 1)); });
  here.receive_values(std::span(&got, 1));
  EXPECT_EQ(got, sent);

  // More than a socket takes, and nobody reads it before.
  const std::vector<std::byte> many(std::size_t{4} << 20, std::byte{7});
  std::vector<std::byte> all(many.size());
  std::thread reader;
  here.while_waiting([&] {
    if (!reader.joinable()) reader = std::thread([&] { there.receive_values(std::span(all)); });
  });
  here.send_values(std::span(many));
  ASSERT_TRUE(reader.joinable());
  reader.join();
  EXPECT_EQ(all, many);
}

TEST_F(ListenerWithOrders, WaitsNoLongerOnceAnOrderComes) {
  order(Rewire{2});
  EXPECT_THROW((void)listener_->accept(*orders_), NeighbourGone);
  EXPECT_EQ(orders_->next()->get<Rewire>().listen, 2U);
}

// Somebody may die while this process is still busy with what comes before connecting: both orders
// are read at once then, and nothing more comes.
TEST_F(ListenerWithOrders, DoesNotWaitWhereAnOrderWasReadTogetherWithTheOneBefore) {
  order(Connect{.term = 1});
  order(Rewire{2});
  EXPECT_EQ(orders_->next()->get<Connect>().term, 1U);
  EXPECT_THROW((void)listener_->accept(*orders_), NeighbourGone);
  EXPECT_EQ(orders_->next()->get<Rewire>().listen, 2U);
}

TEST_F(ListenerWithOrders, DoesNotWaitOnceTheOrchestratorIsGone) {
  order(Connect{.term = 1});
  write_.reset();
  EXPECT_EQ(orders_->next()->get<Connect>().term, 1U);
  EXPECT_THROW((void)listener_->accept(*orders_), NeighbourGone);
  EXPECT_EQ(orders_->next(), std::nullopt);
}

}  // namespace
}  // namespace aqua::pipeline
