// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include "tools/place/model/occupancy.hpp"
#include "tools/place/model/score.hpp"
#include "tools/place/search/heuristic.hpp"

namespace aqua::place {
namespace {

constexpr long kKicks = 4000;              // for a small cluster; fewer for a large one
constexpr std::size_t kServedTrials = 60;  // partners tried for each model

struct Step {
  Bytes worst = 0;  // of the two units, afterwards
  Bytes sum = 0;
  int model = -1;
  int partner = -1;  // -1: a move to `server`
  int server = -1;

  [[nodiscard]] bool better_than(const Step& other) const {
    return other.model < 0 || worst < other.worst || (worst == other.worst && sum < other.sum);
  }
};

class Climb {
 public:
  Climb(const Cluster& cluster, Occupancy& occupancy) : cluster_(cluster), occupancy_(occupancy) {}

  // One step that leaves both units below the worst; false when there is none.
  bool step() {
    const int unit = occupancy_.worst_unit();
    const Bytes before = occupancy_.value(unit);
    Step best;
    for (const int model : occupancy_.models_in(unit)) {
      if (cluster_.fixed(model) < 0) look(unit, model, best);
    }
    if (best.model < 0 || best.worst >= before) return false;
    perform(best);
    return true;
  }
  void perform(const Step& step) {
    if (step.partner >= 0) return occupancy_.swap(step.model, step.partner);
    occupancy_.take(step.model);
    occupancy_.put(step.model, step.server);
  }

 private:
  void look(int unit, int model, Step& best) const {
    const int from = occupancy_.server_of(model);
    const Bytes without = occupancy_.value_with(unit, -1, model);
    for (int s = 0; s < static_cast<int>(cluster_.servers().size()); ++s) {
      const int other = cluster_.unit_of(s);
      if (other == unit || !occupancy_.room_for(model, s)) continue;
      const Bytes there = occupancy_.value_with(other, model, -1);
      const Step step{std::max(without, there), without + there, model, -1, s};
      if (step.better_than(best)) best = step;
    }
    for (int partner = 0; partner < static_cast<int>(cluster_.models().size()); ++partner) {
      const int to = occupancy_.server_of(partner);
      const int other = cluster_.unit_of(to);
      if (other == unit || same(model, partner)) continue;
      const Bytes here = occupancy_.value_with(unit, partner, model);
      if (best.model >= 0 && here > best.worst) continue;
      const Bytes there = occupancy_.value_with(other, model, partner);
      const Step step{std::max(here, there), here + there, model, partner, -1};
      if (!step.better_than(best) || cluster_.fixed(partner) >= 0) continue;
      if (occupancy_.room_for(model, to, partner) && occupancy_.room_for(partner, from, model)) {
        best = step;
      }
    }
  }
  [[nodiscard]] bool same(int a, int b) const {
    return cluster_.model(a).bytes == cluster_.model(b).bytes &&
           cluster_.model(a).shards == cluster_.model(b).shards;
  }

  const Cluster& cluster_;
  Occupancy& occupancy_;
};

// A few random exchanges, one of them with the worst unit, where there is room for them.
void kick(const Cluster& cluster, Occupancy& occupancy, std::mt19937_64& random) {
  const auto any = [&](std::size_t of) { return static_cast<int>(random() % of); };
  const std::size_t models = cluster.models().size();
  const int unit = occupancy.worst_unit();
  for (int i = 0; i < 3; ++i) {
    const auto& members = occupancy.models_in(unit);
    const int a = i == 0 && !members.empty()
                      ? members[static_cast<std::size_t>(any(members.size()))]
                      : any(models);
    const int b = any(models);
    if (cluster.fixed(a) >= 0) continue;
    const int from = occupancy.server_of(a);
    const int server = any(cluster.servers().size());
    if (random() % 4 == 0 && occupancy.room_for(a, server)) {
      occupancy.take(a);
      occupancy.put(a, server);
      continue;
    }
    const int to = occupancy.server_of(b);
    if (cluster.fixed(b) >= 0 || from == to) continue;
    if (occupancy.room_for(a, to, b) && occupancy.room_for(b, from, a)) occupancy.swap(a, b);
  }
}

// Swaps that serve more from peers and leave both units at most at `roof`.
void serve_more(const Cluster& cluster, Occupancy& occupancy, Bytes roof,
                const Deadline& deadline) {
  const std::size_t models = cluster.models().size();
  std::mt19937_64 random(7);
  std::vector<Bytes> served;
  for (std::size_t u = 0; u < cluster.units().size(); ++u) {
    served.push_back(served_by(cluster, occupancy.models_in(static_cast<int>(u))));
  }
  for (int a = 0; a < static_cast<int>(models) && !deadline.over(); ++a) {
    for (std::size_t trial = 0; trial < std::min(models, kServedTrials); ++trial) {
      const int b =
          models <= kServedTrials ? static_cast<int>(trial) : static_cast<int>(random() % models);
      const int from = occupancy.server_of(a);
      const int to = occupancy.server_of(b);
      const int u = cluster.unit_of(from);
      const int v = cluster.unit_of(to);
      if (u == v || cluster.fixed(a) >= 0 || cluster.fixed(b) >= 0) continue;
      if (occupancy.value_with(u, b, a) > roof || occupancy.value_with(v, a, b) > roof) continue;
      if (!occupancy.room_for(a, to, b) || !occupancy.room_for(b, from, a)) continue;
      occupancy.swap(a, b);
      const Bytes here = served_by(cluster, occupancy.models_in(u));
      const Bytes there = served_by(cluster, occupancy.models_in(v));
      Bytes& old_here = served[static_cast<std::size_t>(u)];
      Bytes& old_there = served[static_cast<std::size_t>(v)];
      if (here + there > old_here + old_there) {
        old_here = here;
        old_there = there;
      } else {
        occupancy.swap(a, b);
      }
    }
  }
}

}  // namespace

Assignment improve(const Cluster& cluster, Assignment assignment, Bytes enough,
                   const Deadline& deadline) {
  if (assignment.empty()) return assignment;
  Occupancy occupancy(cluster, assignment);
  Climb climb(cluster, occupancy);
  const auto worst = [&] { return occupancy.value(occupancy.worst_unit()); };
  const auto climb_up = [&] {
    while (worst() > enough && !deadline.over() && climb.step()) {
    }
  };
  climb_up();
  std::mt19937_64 random(1);
  Assignment best = occupancy.assignment();
  Bytes least = worst();
  const long kicks = kKicks * 100 / static_cast<long>(100 + cluster.models().size());
  for (long i = 0; i < kicks && least > enough && !deadline.over(); ++i) {
    kick(cluster, occupancy, random);
    climb_up();
    if (worst() <= least) {
      least = worst();
      best = occupancy.assignment();
    } else {
      occupancy = Occupancy(cluster, best);
    }
  }
  Occupancy result(cluster, best);
  serve_more(cluster, result, least, deadline);
  return result.assignment();
}

Assignment improve_frugally(const Cluster& cluster, Assignment assignment,
                            const Deadline& deadline) {
  if (assignment.empty()) return assignment;
  const Bytes price = cluster.problem().move_cost_bytes;
  Occupancy occupancy(cluster, assignment);
  Climb climb(cluster, occupancy);
  Assignment best = assignment;
  Score least = score_of(cluster, assignment);
  while (!deadline.over() && climb.step()) {
    const Score now = score_of(cluster, occupancy.assignment());
    if (now.better_than(least, price)) {
      least = now;
      best = occupancy.assignment();
    }
  }
  return best;
}

}  // namespace aqua::place
