// SPDX-License-Identifier: Apache-2.0
// Two servers on this machine, a keeper and a courier each, and a router in front of both. Engines
// a and c are of the first, b and d of the second; they hand KV over by segments, and couriers
// carry it between the keepers. All may die and be replaced.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/base/temp_dir.hpp"
#include "tests/coordinator/child_process.hpp"
#include "tests/examples/fleet/rig.hpp"

namespace aqua::fleet::test {

class TwoHosts {
 public:
  static constexpr std::size_t kEngines = 4;
  using Line = std::vector<std::string>;

  // `of_engines`: more words of each one's command line, by its number.
  explicit TwoHosts(const std::function<Line(std::size_t engine)>& of_engines = {});

  [[nodiscard]] static std::size_t host_of(std::size_t engine) { return engine % 2; }
  [[nodiscard]] static std::string name_of(std::size_t engine) {
    return std::string(1, static_cast<char>('a' + engine));
  }
  [[nodiscard]] const std::string& url() const { return router->url(); }
  [[nodiscard]] FleetEngine& engine(std::size_t i) { return *engines_.at(i); }
  [[nodiscard]] std::string state(std::size_t i) const {
    return router->engine(name_of(i)).value("state", "");
  }
  // Another process in its place, at the same address.
  void replace(std::size_t i);
  [[nodiscard]] Keeper& keeper(std::size_t host) { return keepers_.at(host); }
  [[nodiscard]] const aqua::testing::ChildProcess& courier(std::size_t host) const {
    return *couriers_.at(host);
  }
  // By SIGKILL; another one begins at once.
  void replace_courier(std::size_t host);
  // Parcels that are complete at the keeper, or on their way from it.
  [[nodiscard]] std::size_t parcels_at(std::size_t host) const;
  // Every engine, and both keepers.
  void expect_nothing_left(const std::vector<std::size_t>& dead = {});

  // Asks for an answer that begins on engine a. After its first 20 tokens every engine may have it,
  // and `then` is called, once.
  [[nodiscard]] Answer ask_at_a(std::uint32_t question, std::uint32_t tokens,
                                const std::function<void()>& then);

  std::optional<RouterProcess> router;

 private:
  [[nodiscard]] Line line_of(std::size_t engine) const;
  [[nodiscard]] std::string config_of(std::size_t host) const;
  // Returns once it listens: how many of its routes it had told to be connected by then.
  [[nodiscard]] std::size_t start_courier(std::size_t host);

  aqua::testing::TempDir directory_;
  std::array<Keeper, 2> keepers_{};
  std::array<int, 2> ports_{};
  std::array<std::optional<aqua::testing::ChildProcess>, 2> couriers_{};
  std::vector<Line> more_{};
  std::deque<std::optional<FleetEngine>> engines_{};
};

}  // namespace aqua::fleet::test
