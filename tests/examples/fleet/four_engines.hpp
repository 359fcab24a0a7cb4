// SPDX-License-Identifier: Apache-2.0
// Four engines of one pool, and a router in front. All but the keeper may die and be replaced.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tests/examples/fleet/rig.hpp"

namespace aqua::fleet::test {

using router::test::becomes;

class Fleet {
 public:
  // `more`: of each engine's command line.
  explicit Fleet(const std::vector<std::string>& more = {}) {
    line_.insert(line_.end(), more.begin(), more.end());
    for (const char* name : {"a", "b", "c", "d"}) {
      engines_.emplace_back(std::in_place, keeper, name, line_);
      urls_.push_back(engines_.back()->url());
    }
    router.emplace(urls_);
  }
  [[nodiscard]] FleetEngine& engine(std::size_t i) { return *engines_.at(i); }
  [[nodiscard]] std::string state(std::size_t i) const {
    return router->engine(std::string(1, static_cast<char>('a' + i))).value("state", "");
  }
  // Another process in its place, at the same address.
  void replace(std::size_t i) {
    const std::string url = engines_[i]->url();
    auto line = line_;
    line.insert(line.end(), {"--port", url.substr(url.rfind(':') + 1)});
    engines_[i].reset();
    engines_[i].emplace(keeper, std::string(1, static_cast<char>('a' + i)), line);
  }
  // The router is killed, and another one takes its address.
  void replace_router() {
    router->child.signal(SIGKILL);
    EXPECT_EQ(router->child.wait(), 128 + SIGKILL);
    const std::string address = router->url().substr(router->url().rfind('/') + 1);
    router.emplace(urls_, std::vector<std::string>{"--listen", address});
  }
  // Waits until all engines together have run `count` more iterations, or have nothing to compute:
  // while the router stands still it sends no new requests, and ends no move.
  void await_iterations(double count) {
    const auto sum = [&](const char* metric) {
      double all = 0;
      for (auto& engine : engines_) all += engine->metric(metric);
      return all;
    };
    const double before = sum("fleet_iterations_total");
    EXPECT_TRUE(becomes([&] {
      return sum("fleet_iterations_total") > before + count ||
             sum("fleet_requests") == sum("fleet_requests_in_moves");
    }));
  }
  void expect_nothing_left() {
    for (auto& engine : engines_)
      EXPECT_TRUE(becomes([&] { return engine->holds_nothing(); })) << engine->url();
    EXPECT_TRUE(becomes([&] { return keeper.holds_nothing(); }));
  }

  const Keeper keeper;
  std::optional<RouterProcess> router;

 private:
  std::vector<std::string> line_{"--iteration-ms", "10"};
  std::vector<std::string> urls_{};
  std::deque<std::optional<FleetEngine>> engines_;
};

}  // namespace aqua::fleet::test
