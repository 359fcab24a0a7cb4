// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tools/place/model/occupancy.hpp"
#include "tools/place/search/heuristic.hpp"

namespace aqua::place {
namespace {

constexpr double kHot = 1.0 / 64;  // of H squared
constexpr double kCold = kHot * 1e-4;
constexpr int kRounds = 8;
constexpr std::size_t kElsewhere = 4;  // one exchange in so many begins at any server
constexpr std::size_t kBelow = std::numeric_limits<std::size_t>::max();
constexpr long kStepsOfATemperature = 1024;
constexpr std::size_t kMostLeaving = 2, kMostComing = 6;
constexpr Bytes kFine = 1600;  // of H: targets are told apart no finer

// Simulated annealing on how far units lie above a target: a unit below it may change freely, so
// that the whole cluster gives way where a climb from the worst unit finds no single step. Sets of
// models are exchanged between two servers, mostly between one above the target and any other: of
// a large cluster few servers are above it, and only these have to change.
class Annealing {
 public:
  Annealing(const Cluster& cluster, const Assignment& start)
      : cluster_(cluster),
        assignment_(start),
        members_(cluster.servers().size()),
        loads_(cluster.units().size()) {
    for (const Server& server : cluster.servers()) free_.push_back(server.gpus);
    for (int m = 0; m < static_cast<int>(start.size()); ++m) put(m, assignment_[at(m)]);
  }

  // Halves, round by round, what lies between the best so far and the least target that was missed.
  Assignment run(Bytes enough, long steps, const Deadline& deadline) {
    Assignment best = assignment_;
    Bytes least = worst();
    const Bytes fine = std::max<Bytes>(1, cluster_.largest_hbm() / kFine);
    Bytes missed = enough;
    for (int round = 0; round < kRounds && least - missed > fine; ++round) {
      const Bytes target = missed + (least - missed) / 2;
      aim_at(target);
      const bool reached = cool(steps / kRounds, deadline);
      if (const Bytes now = worst(); now < least) {
        least = now;
        best = assignment_;
      }
      if (!reached) missed = target;
    }
    return best;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] int any(std::size_t of) { return static_cast<int>(random_() % of); }
  [[nodiscard]] Bytes hbm(int unit) const { return cluster_.units()[at(unit)].hbm_bytes; }

  void put(int model, int server) {
    assignment_[at(model)] = server;
    members_[at(server)].push_back(model);
    free_[at(server)] -= cluster_.model(model).shards;
    loads_[at(cluster_.unit_of(server))].add(cluster_.model(model));
  }
  void take(int model) {
    const int server = assignment_[at(model)];
    auto& members = members_[at(server)];
    members.erase(std::find(members.begin(), members.end(), model));
    free_[at(server)] += cluster_.model(model).shards;
    loads_[at(cluster_.unit_of(server))].add(cluster_.model(model), -1);
  }
  [[nodiscard]] Bytes worst() const {
    Bytes most = 0;
    for (int u = 0; at(u) < loads_.size(); ++u) most = std::max(most, loads_[at(u)].value(hbm(u)));
    return most;
  }
  void aim_at(Bytes target) {
    target_ = target;
    above_.clear();
    place_.assign(loads_.size(), kBelow);
    for (int u = 0; at(u) < loads_.size(); ++u) note(u, above(loads_[at(u)], u) > 0);
  }
  void note(int unit, bool is_above) {
    std::size_t& place = place_[at(unit)];
    if (is_above == (place != kBelow)) return;
    if (is_above) {
      place = above_.size();
      above_.push_back(unit);
      return;
    }
    place_[at(above_.back())] = place;
    above_[place] = above_.back();
    above_.pop_back();
    place = kBelow;
  }
  // True as soon as no unit is above the target.
  bool cool(long steps, const Deadline& deadline) {
    double heat = 0;
    for (long step = 0; step < steps && !above_.empty(); ++step) {
      if (step % kStepsOfATemperature == 0) {
        if (deadline.over()) break;
        heat =
            kHot * std::pow(kCold / kHot, static_cast<double>(step) / static_cast<double>(steps));
      }
      if (propose()) accept(heat);
    }
    return above_.empty();
  }
  // Shares of H above the target, squared.
  [[nodiscard]] double above(const Load& load, int unit) const {
    const Bytes over = load.value(hbm(unit)) - target_;
    if (over <= 0) return 0;
    const double share = static_cast<double>(over) / static_cast<double>(cluster_.largest_hbm());
    return share * share;
  }

  // Draws models of `server` that may leave it, each once, until `enough()`.
  template <typename Enough>
  void draw(int server, std::vector<int>& into, std::size_t tries, Enough enough) {
    const auto& members = members_[at(server)];
    for (std::size_t i = 0; i < tries && !members.empty() && !enough(); ++i) {
      const int model = members[at(any(members.size()))];
      if (cluster_.fixed(model) >= 0) continue;
      if (std::find(into.begin(), into.end(), model) == into.end()) into.push_back(model);
    }
  }
  [[nodiscard]] int shards(const std::vector<int>& models) const {
    int sum = 0;
    for (const int m : models) sum += cluster_.model(m).shards;
    return sum;
  }
  // Whether no two of a group would share the server.
  [[nodiscard]] bool stay_apart(const std::vector<int>& coming, const std::vector<int>& leaving,
                                int server) const {
    for (const int m : coming) {
      const int group = cluster_.apart(m);
      if (group < 0) continue;
      const auto same = [&](int other) { return other != m && cluster_.apart(other) == group; };
      if (std::any_of(coming.begin(), coming.end(), same)) return false;
      for (const int other : members_[at(server)])
        if (same(other) && std::find(leaving.begin(), leaving.end(), other) == leaving.end())
          return false;
    }
    return true;
  }

  // Sets to exchange, that have room; false: none this time.
  bool propose() {
    here_ = any(members_.size());
    if (any(kElsewhere) > 0) {
      const auto& servers = cluster_.units()[at(above_[at(any(above_.size()))])].servers;
      here_ = servers[at(any(servers.size()))];
    }
    there_ = any(members_.size());
    if (cluster_.unit_of(here_) == cluster_.unit_of(there_)) return false;
    out_.clear();
    in_.clear();
    draw(here_, out_, 1 + at(any(kMostLeaving)), [] { return false; });
    if (out_.empty()) return false;
    draw(there_, in_, at(any(kMostLeaving + 1)), [] { return false; });
    const int leaving = shards(out_);
    draw(there_, in_, kMostComing, [&] { return leaving - shards(in_) <= free_[at(there_)]; });
    const int coming = shards(in_);
    return leaving - coming <= free_[at(there_)] && coming - leaving <= free_[at(here_)] &&
           stay_apart(out_, in_, there_) && stay_apart(in_, out_, here_);
  }

  void accept(double heat) {
    const int u = cluster_.unit_of(here_), v = cluster_.unit_of(there_);
    Load mine = loads_[at(u)], other = loads_[at(v)];
    for (const int m : out_) {
      mine.add(cluster_.model(m), -1);
      other.add(cluster_.model(m));
    }
    for (const int m : in_) {
      mine.add(cluster_.model(m));
      other.add(cluster_.model(m), -1);
    }
    const double a = above(loads_[at(u)], u), b = above(loads_[at(v)], v);
    const double c = above(mine, u), d = above(other, v);
    const double worse = c + d - a - b;
    const double chance = static_cast<double>(random_() >> 11U) * 0x1p-53;
    if (worse > 0 && chance >= std::exp(-worse / heat)) return;
    note(u, c > 0);
    note(v, d > 0);
    for (const int m : out_) take(m);
    for (const int m : in_) take(m);
    for (const int m : out_) put(m, there_);
    for (const int m : in_) put(m, here_);
  }

  const Cluster& cluster_;
  Assignment assignment_;
  std::vector<std::vector<int>> members_;  // by server
  std::vector<Load> loads_;                // by unit
  std::vector<int> free_;                  // GPUs, by server
  Bytes target_ = 0;
  std::vector<int> above_;          // units above it
  std::vector<std::size_t> place_;  // in above_, by unit
  std::mt19937_64 random_{1};
  int here_ = 0, there_ = 0;
  std::vector<int> out_, in_;
};

}  // namespace

Assignment anneal(const Cluster& cluster, Assignment start, Bytes enough, long steps,
                  const Deadline& deadline) {
  if (start.empty() || cluster.units().size() < 2) return start;
  return Annealing(cluster, start).run(enough, steps, deadline);
}

}  // namespace aqua::place
