// SPDX-License-Identifier: Apache-2.0
#include "ledger/events.hpp"

#include "tests/ledger/world.hpp"

namespace aqua::ledger::test {
namespace {

Event event_to(std::uint64_t n) {
  Event event;
  event.to = client_id(n);
  return event;
}

std::vector<std::uint64_t> numbers(const std::optional<std::vector<Event>>& events) {
  std::vector<std::uint64_t> found;
  for (const Event& event : events.value()) found.push_back(event.number);
  return found;
}
using Numbers = std::vector<std::uint64_t>;

TEST(LedgerEvents, AreNumberedFromOneAndReadPerClient) {
  EventWindow window(10);
  EXPECT_EQ(numbers(window.since(client_id(1), 0)), Numbers{});
  for (const std::uint64_t n : {1u, 2u, 1u, 2u, 1u}) window.append(event_to(n));
  EXPECT_EQ(numbers(window.since(client_id(1), 0)), (Numbers{1, 3, 5}));
  EXPECT_EQ(numbers(window.since(client_id(2), 2)), (Numbers{4}));
  EXPECT_EQ(numbers(window.since(client_id(1), 5)), Numbers{});
  EXPECT_EQ(numbers(window.since(client_id(3), 0)), Numbers{});
  EXPECT_EQ(window.check(), "");
}

TEST(LedgerEvents, BehindTheWindowOrAheadOfTheLedgerAsksForASnapshot) {
  EventWindow window(3);
  for (std::uint64_t n = 1; n <= 10; ++n) window.append(event_to(n));
  EXPECT_EQ(window.last(), 10u);
  EXPECT_EQ(window.since(client_id(8), 6), std::nullopt);
  EXPECT_EQ(numbers(window.since(client_id(8), 7)), Numbers{8});
  EXPECT_EQ(window.since(client_id(8), 11), std::nullopt);
  EXPECT_EQ(window.since(client_id(8), ~std::uint64_t{0}), std::nullopt);
  EXPECT_EQ(window.check(), "");
}

TEST(LedgerEvents, AWindowOfNothingKeepsCounting) {
  EventWindow window(0);
  window.append(event_to(1));
  window.append(event_to(1));
  EXPECT_EQ(window.last(), 2u);
  EXPECT_EQ(window.since(client_id(1), 1), std::nullopt);
  EXPECT_EQ(numbers(window.since(client_id(1), 2)), Numbers{});
}

}  // namespace
}  // namespace aqua::ledger::test
