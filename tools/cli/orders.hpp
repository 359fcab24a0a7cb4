// SPDX-License-Identifier: Apache-2.0
// aqua drain, reclaim and pair: an operator's orders to a coordinator, by name.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "tools/options/command_line.hpp"

namespace aqua::tool {

enum class OrderKind : std::uint8_t { drain, reclaim, pair };
[[nodiscard]] std::string_view to_string(OrderKind kind);

struct Order {
  OrderKind kind = OrderKind::drain;
  std::string coordinator{};
  std::string client{};    // to drain or reclaim from, or the lender of a pair
  std::string borrower{};  // of a pair
  std::uint64_t mib = 0;   // to reclaim
  std::chrono::seconds within{10};
  bool end = false;  // of a drain or pair
  bool json = false;
};

// The line that fills `order`, whose kind is set and which must outlive it.
[[nodiscard]] CommandLine order_line(Order& order);
// invalid_argument names the argument.
[[nodiscard]] Result<Order> parse_order(OrderKind kind,
                                        std::span<const std::string_view> arguments);
// Gives the order, once. The text to print.
[[nodiscard]] Result<std::string> run_order(const Order& order);

}  // namespace aqua::tool
