// SPDX-License-Identifier: Apache-2.0
// Several programs of these tests (PeerProgram) that work side by side.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/keeper/peer_program.hpp"

namespace aqua::test {

// The answer of whoever says something first.
inline std::string answer_of_any(const std::vector<std::unique_ptr<PeerProgram>>& members) {
  std::vector<pollfd> polled;
  polled.reserve(members.size());
  for (const auto& member : members) polled.push_back({member->socket(), POLLIN, 0});
  EXPECT_GT(::poll(polled.data(), polled.size(), 60'000), 0) << "nobody gets on";
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (polled[i].revents != 0) return members[i]->answer();
  }
  return "silence";
}

}  // namespace aqua::test
