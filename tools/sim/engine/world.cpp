// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/engine/world.hpp"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

namespace aqua::sim {

class World {
 public:
  World(Network& network, const std::vector<Actor*>& actors)
      : network_(network), actors_(actors), seen_(actors.size()) {
    for (std::size_t place = 0; place < actors.size(); ++place) {
      actors[place]->world_ = this;
      actors[place]->place_ = place;
      if (actors[place]->steers()) steering_.push_back(place);
      look(place);
    }
  }
  ~World() {
    for (Actor* actor : actors_) actor->world_ = nullptr;
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // What the actor says of itself may have changed.
  void look(std::size_t place) {
    Seen& seen = seen_[place];
    const Actor& actor = *actors_[place];
    if (actor.steers()) return;  // looked at anew each time
    if (const Picos at = actor.next(); at != seen.at) {
      if (seen.at != kNever) agenda_.erase({seen.at, place});
      if (at != kNever) agenda_.insert({at, place});
      seen.at = at;
    }
    if (const bool done = actor.done(); done != seen.done) {
      seen.done = done;
      open_ += done ? std::size_t{0} - 1 : 1;
    }
  }

  [[nodiscard]] bool done() const {
    return open_ == 0 &&
           std::ranges::all_of(steering_, [&](std::size_t k) { return actors_[k]->done(); });
  }

  [[nodiscard]] Picos soonest() const {
    const Picos at = agenda_.empty() ? kNever : agenda_.begin()->first;
    return std::min(at, horizon(actors_.size()));
  }

  void play(Picos now) {
    for (const Network::Ended& ended : network_.advance(now)) {
      if (ended.owner == nullptr) continue;
      ended.owner->flow_ended(ended.flow, now);
      look(ended.owner->place_);
    }
    for (std::size_t place = 0; (place = due(place, now)) != actors_.size(); ++place) {
      actors_[place]->act(now, horizon(place));
      look(place);
    }
  }

 private:
  struct Seen {
    Picos at = kNever;
    bool done = true;
  };

  // The next event that concerns the actor at `place`.
  [[nodiscard]] Picos horizon(std::size_t place) const {
    Picos at = network_.next_change();
    for (const std::size_t k : steering_) {
      if (k != place) at = std::min(at, actors_[k]->next());
    }
    return at;
  }

  // The first from `place` on who wants to act; how many there are, if nobody does.
  [[nodiscard]] std::size_t due(std::size_t place, Picos now) const {
    std::size_t first = actors_.size();
    for (const std::size_t k : steering_) {
      if (k >= place && actors_[k]->next() <= now) {
        first = k;
        break;
      }
    }
    for (auto entry = agenda_.begin(); entry != agenda_.end() && entry->first <= now; ++entry) {
      if (entry->second >= place) first = std::min(first, entry->second);
    }
    return first;
  }

  Network& network_;
  const std::vector<Actor*>& actors_;
  std::vector<std::size_t> steering_{};
  std::vector<Seen> seen_;
  std::set<std::pair<Picos, std::size_t>> agenda_{};  // of those that do not steer
  std::size_t open_ = 0;                              // of them: not done
};

void Actor::changed() {
  if (world_ != nullptr) world_->look(place_);
}

bool run_world(Network& network, const std::vector<Actor*>& actors,
               const std::function<void(Picos now)>& observe) {
  constexpr std::uint64_t kObserveEvery = 1 << 14;  // instants
  World world(network, actors);
  Picos now = 0;
  for (std::uint64_t instants = 0; !world.done(); ++instants) {
    const Picos soonest = world.soonest();
    if (soonest == kNever) return false;
    now = std::max(now, soonest);
    if (observe && instants % kObserveEvery == 0) observe(now);
    world.play(now);
  }
  return true;
}

}  // namespace aqua::sim
