// SPDX-License-Identifier: Apache-2.0
// Random events on a Cluster.
#include <random>

#include "tests/systems/packing/cluster.hpp"

namespace aqua::packing::test {
namespace {

std::uint64_t size_of(std::mt19937_64& random, const Weather& weather) {
  const std::uint64_t c = weather.capacity;
  const auto up_to = [&](std::uint64_t n) { return random() % (n + 1); };
  switch (weather.sizes) {
    case 0:
      return 1 + (up_to(9) == 0 ? up_to(c * 6 / 10) : up_to(c / 6));
    case 1:
      return c / (2 + up_to(6)) + 1 + up_to(2);
    case 2:
      return 1 + c / 5 + up_to(c / 2);
    default:
      return 1 + up_to(c * 8 / 10);
  }
}

class Player {
 public:
  Player(Cluster& cluster, const Weather& weather)
      : cluster_(cluster), weather_(weather), random_(weather.seed) {}

  void epoch() {
    if (weather_.engines_change) change_engines();
    end_some();
    grow_some();
    for (std::uint64_t n = up_to(static_cast<std::uint64_t>(2 * weather_.arrivals)); n > 0; --n) {
      arrive();
    }
    cluster_.epoch();
    for (const RequestId id : cluster_.moving()) {
      if (!weather_.moves_take_time) {
        EXPECT_TRUE(cluster_.end_move(id, false));
      } else if (up_to(1) == 0) {
        EXPECT_TRUE(cluster_.end_move(id, up_to(5) == 0));
      }
    }
  }

  void begin() {
    for (int i = 0; i < 3; ++i) join();
    for (int i = 0; i < 9; ++i) join();
  }

 private:
  std::uint64_t up_to(std::uint64_t n) { return random_() % (n + 1); }

  void join() {
    EngineSpec spec{.id = EngineId{++engines_}, .kv_tokens = weather_.capacity};
    if (weather_.capacities_differ) spec.kv_tokens += up_to(weather_.capacity);
    spec.server = ServerId{engines_ / 2};
    spec.domain = DomainId{engines_ / 4};
    spec.wake_cost = static_cast<double>(up_to(2));
    EXPECT_TRUE(cluster_.join(spec));
  }

  EngineId some_engine() {
    auto at = cluster_.engines().begin();
    std::advance(at, static_cast<std::ptrdiff_t>(up_to(cluster_.engines().size() - 1)));
    return at->first;
  }

  void change_engines() {
    if (up_to(3) == 0) join();
    if (cluster_.engines().size() < 4) return;
    switch (up_to(9)) {
      case 0:
        cluster_.lose(some_engine());
        break;
      case 1:
        cluster_.drain(some_engine());
        break;
      case 2:
        cluster_.resize(some_engine(), weather_.capacity / 2 + up_to(weather_.capacity));
        break;
      default:
        break;
    }
    std::vector<EngineId> empty;
    for (const auto& [id, engine] : cluster_.engines()) {
      if (engine.state == EngineState::draining && cluster_.held(id) == 0) empty.push_back(id);
    }
    for (const EngineId id : empty) EXPECT_TRUE(cluster_.gone(id));
  }

  std::vector<RequestId> all() {
    std::vector<RequestId> ids;
    for (const auto& [id, r] : cluster_.requests()) ids.push_back(id);
    return ids;
  }

  void end_some() {
    for (const RequestId id : all()) {
      if (up_to(static_cast<std::uint64_t>(weather_.lives)) == 0) {
        EXPECT_TRUE(cluster_.end(id));
      }
    }
  }

  void grow_some() {
    if (weather_.growth == 0) return;
    for (const RequestId id : all()) {
      const RealRequest& r = cluster_.requests().at(id);
      if (r.engine == no_engine || up_to(2) == 0) continue;
      EXPECT_TRUE(cluster_.grow(id, r.tokens + up_to(weather_.growth)));
    }
  }

  void arrive() {
    RequestSpec spec{.id = RequestId{++requests_}, .tokens = size_of(random_, weather_)};
    spec.max_new = up_to(weather_.capacity / 10);
    if (weather_.prefixes && up_to(1) == 0) {
      spec.prefix = PrefixId{1 + up_to(3)};
      spec.prefix_tokens = 20 * static_cast<std::uint64_t>(spec.prefix);
      spec.tokens += spec.prefix_tokens;
    }
    cluster_.arrive(spec);
  }

  Cluster& cluster_;
  const Weather weather_;
  std::mt19937_64 random_;
  std::uint64_t engines_ = 0, requests_ = 0;
};

}  // namespace

void play(Cluster& cluster, const Weather& weather) {
  Player player(cluster, weather);
  player.begin();
  for (int i = 0; i < weather.epochs && !::testing::Test::HasFailure(); ++i) player.epoch();
}

}  // namespace aqua::packing::test
