// SPDX-License-Identifier: Apache-2.0
// For tests of the fleet without a conversation: what it orders is read from mailboxes.
//
// Threads: plain functions.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include "tests/tools/router/live.hpp"
#include "tools/router/fleet/fleet.hpp"

namespace aqua::router::test {

inline EngineEndpoint at_url(const std::string& name, const std::string& url) {
  return parse_engine(name + "=" + url).value();
}

// The next order of this kind; what else comes before it or with it is passed over.
inline std::optional<FleetOrder> await(Mailbox& mail, OrderKind kind) {
  std::optional<FleetOrder> found;
  (void)becomes([&] {
    for (Mail& one : mail.take(std::chrono::steady_clock::now() + std::chrono::milliseconds(50))) {
      const auto* order = std::get_if<FleetOrder>(&one);
      if (!found && order != nullptr && order->kind == kind) found = *order;
    }
    return found.has_value();
  });
  return found;
}

inline void await_up(const Fleet& fleet) {
  EXPECT_TRUE(becomes([&] {
    return std::ranges::all_of(fleet.engines(), [](const auto& one) { return one.state == "up"; });
  }));
}

}  // namespace aqua::router::test
