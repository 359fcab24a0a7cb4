// SPDX-License-Identifier: Apache-2.0
// Small random clusters, and all their placements one by one.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>

#include "tools/place/model/score.hpp"

namespace aqua::place::test {

inline constexpr Bytes kGB = 1'000'000'000;

struct Kind {
  bool domains = false;
  bool mixed_servers = false;
  bool fixed = false;
  bool apart = false;
  bool running = false;
};

inline Problem random_problem(std::mt19937_64& random, const Kind& kind) {
  const auto any = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  Problem problem;
  const int servers = any(1, 3);
  int gpus = 0;
  for (int s = 0; s < servers; ++s) {
    Server server{"s" + std::to_string(s), kind.mixed_servers ? any(2, 4) : 3, 80 * kGB};
    if (kind.mixed_servers && any(0, 1) == 1) server.hbm_bytes = 40 * kGB;
    if (kind.domains && s < 2) server.domain = "rack";
    gpus += server.gpus;
    problem.servers.push_back(server);
  }
  const int wanted = any(1, gpus);
  const auto server_or_none = [&](int one_in) {
    return any(1, one_in) == 1 ? "s" + std::to_string(any(0, servers - 1)) : std::string();
  };
  for (int used = 0; used < wanted;) {
    Model model{"m" + std::to_string(problem.models.size()), any(1, 4) == 1 ? 2 : 1};
    model.bytes = any(0, 9) == 0 ? 0 : kGB * any(-30, 30);
    if (kind.fixed) model.fixed = server_or_none(6);
    if (kind.running) model.current = server_or_none(1);
    if (kind.apart && any(1, 3) == 1) model.apart = "group";
    used += model.shards;
    problem.models.push_back(model);
  }
  return problem;
}

// The best score of all allowed assignments, by trying each; nullopt when none is allowed.
inline std::optional<Score> best_of_all(const Cluster& cluster) {
  std::optional<Score> best;
  Assignment assignment(cluster.models().size(), 0);
  const int servers = static_cast<int>(cluster.servers().size());
  const std::function<void(std::size_t)> visit = [&](std::size_t m) {
    if (m == assignment.size()) {
      if (!allowed(cluster, assignment)) return;
      const Score score = score_of(cluster, assignment);
      if (!best || score.better_than(*best, cluster.problem().move_cost_bytes)) best = score;
      return;
    }
    for (int s = 0; s < servers; ++s) {
      assignment[m] = s;
      visit(m + 1);
    }
  };
  visit(0);
  return best;
}

}  // namespace aqua::place::test
