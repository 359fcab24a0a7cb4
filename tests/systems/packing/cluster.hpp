// SPDX-License-Identifier: Apache-2.0
// Cluster: engines and requests as they really are, beside one packer or several that are told the
// same. It counts by itself where every token is, carries plans out, and holds each plan to what
// aqua/packing promises: no engine gets what it has no room for, in whatever stage; moves are
// within their limit; what is freed is empty. Several packers must answer alike.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "aqua/packing/packer.hpp"

namespace aqua::packing::test {

struct RealRequest {
  RequestSpec spec{};
  std::uint64_t tokens = 0, arrival = 0;
  EngineId engine = no_engine;  // no_engine: it waits
  EngineId to = no_engine;      // while it moves
  bool dropped = false;         // it moves, and its KV is nowhere
  std::uint64_t plan = 0;       // that ordered its move
};

struct RealEngine {
  EngineSpec spec{};
  EngineState state = EngineState::asleep;
};

class Cluster {
 public:
  using Packers = std::vector<std::unique_ptr<Packer>>;
  Cluster(Packers packers, const PackerOptions& options)
      : packers_(std::move(packers)), options_(options) {}

  // --- what happens; false when the packer refused it --------------------------------------------
  bool join(const EngineSpec& spec);
  bool resize(EngineId id, std::uint64_t kv_tokens);
  bool drain(EngineId id);
  bool gone(EngineId id);
  bool lose(EngineId id);
  bool arrive(const RequestSpec& spec);
  bool grow(RequestId id, std::uint64_t tokens);
  bool end(RequestId id);
  bool end_move(RequestId id, bool failed);
  void end_moves();  // all of them, well

  // Asks for a plan, checks it, and begins to carry it out.
  const Plan& epoch();
  // Without an event in between, until a plan moves and places nothing, or for `most` plans.
  void settle(int most = 100);

  // --- questions ---------------------------------------------------------------------------------
  const std::map<EngineId, RealEngine>& engines() const { return engines_; }
  const std::map<RequestId, RealRequest>& requests() const { return requests_; }
  std::vector<RequestId> moving() const;
  std::uint64_t own(const RealRequest& r) const;
  std::uint64_t held(EngineId id) const;
  std::uint64_t usable(EngineId id) const;
  std::uint64_t in_use() const;  // engines that hold anything
  Packer& packer() { return *packers_.front(); }

 private:
  template <typename Call>
  bool told(const Call& call);
  void check_counts();
  void check_moves(const Plan& plan);
  void check_placement(const Placement& placed);
  void check_end(const Plan& plan);
  std::uint64_t shared(const RealRequest& r) const;
  // `over`: moves of this plan that count as done. They may yet fail.
  std::uint64_t to_copy(const Move& move, const std::vector<const Move*>& over) const;
  std::map<EngineId, std::uint64_t> all_held() const;
  void wake(EngineId id);

  Packers packers_;
  const PackerOptions options_;
  std::map<EngineId, RealEngine> engines_;
  std::map<RequestId, RealRequest> requests_;
  std::uint64_t arrivals_ = 0;
};

// Random events on a fleet, for as many epochs. `growth`: the most that a request grows in one.
struct Weather {
  std::uint64_t seed = 1;
  int epochs = 12;
  std::uint64_t capacity = 1000;
  bool capacities_differ = false, prefixes = false, engines_change = false;
  bool moves_take_time = false;
  int arrivals = 8, lives = 6;  // in an epoch; epochs
  std::uint64_t growth = 20;
  int sizes = 0;  // 0: mostly small; 1: just above class boundaries; 2: large; 3: any
};

void play(Cluster& cluster, const Weather& weather);

}  // namespace aqua::packing::test
