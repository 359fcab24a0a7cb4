// SPDX-License-Identifier: Apache-2.0
// What tests that kill have in common: what a keeper has open, and how long to go on.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>

#include "base/keeper/connection.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua::test {

// What the keeper has open: what it keeps, what it stands on, and one connection, over which it
// answers when it has heard the end of earlier ones, and has freed what it let go of.
inline std::ptrdiff_t kept_descriptors(KeeperProcess& keeper) {
  KeeperConnection last = KeeperConnection::connect(keeper.socket()).value();
  const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (bool freeing = true; freeing;) {
    const auto answer = last.exchange(R"({"op": "freeing", "wait": true})").value();
    freeing = !answer.fds.empty() && last.wait_for(answer.fds.front().get(), patience).value();
  }
  const std::filesystem::directory_iterator all("/proc/" + std::to_string(keeper.process().pid()) +
                                                "/fd");
  return std::distance(begin(all), end(all));
}

// $AQUA_SHARING_ROUNDS, or 40.
inline int random_rounds() {
  const char* const wanted = std::getenv("AQUA_SHARING_ROUNDS");
  return wanted != nullptr ? std::atoi(wanted) : 40;
}

}  // namespace aqua::test
