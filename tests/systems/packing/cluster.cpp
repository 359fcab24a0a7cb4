// SPDX-License-Identifier: Apache-2.0
#include "tests/systems/packing/cluster.hpp"

#include <algorithm>
#include <set>

namespace aqua::packing::test {
namespace {

PackerStatus countable(PackerStatus status) {
  status.looked_at = 0;
  return status;
}

}  // namespace

std::uint64_t Cluster::shared(const RealRequest& r) const {
  return r.spec.prefix_tokens / options_.block_tokens * options_.block_tokens;
}

std::uint64_t Cluster::own(const RealRequest& r) const {
  const std::uint64_t final_size = options_.reserve ? r.spec.tokens + r.spec.max_new : 0;
  const std::uint64_t tokens = std::max(r.tokens, final_size);
  return (tokens + options_.block_tokens - 1) / options_.block_tokens * options_.block_tokens -
         shared(r);
}

// Both ends of a move hold it.
std::map<EngineId, std::uint64_t> Cluster::all_held() const {
  std::map<EngineId, std::uint64_t> sums;
  std::set<std::pair<EngineId, PrefixId>> prefixes;
  const auto hold = [&](EngineId id, const RealRequest& r) {
    sums[id] += own(r);
    if (shared(r) > 0 && prefixes.insert({id, r.spec.prefix}).second) sums[id] += shared(r);
  };
  for (const auto& [request, r] : requests_) {
    if (r.engine != no_engine && !r.dropped) hold(r.engine, r);
    if (r.to != no_engine) hold(r.to, r);
  }
  return sums;
}

std::uint64_t Cluster::held(EngineId id) const {
  std::uint64_t sum = 0;
  std::set<PrefixId> prefixes;
  for (const auto& [request, r] : requests_) {
    const bool here = (r.engine == id && !r.dropped) || r.to == id;
    if (!here) continue;
    sum += own(r);
    if (shared(r) > 0 && prefixes.insert(r.spec.prefix).second) sum += shared(r);
  }
  return sum;
}

std::uint64_t Cluster::usable(EngineId id) const {
  const std::uint64_t kv = engines_.at(id).spec.kv_tokens;
  return kv - static_cast<std::uint64_t>(static_cast<double>(kv) * options_.watermark);
}

std::uint64_t Cluster::in_use() const {
  std::set<EngineId> ids;
  for (const auto& [id, r] : requests_) {
    if (r.to != no_engine) ids.insert(r.to);
    if (r.engine != no_engine && !r.dropped) ids.insert(r.engine);
  }
  return ids.size();
}

std::vector<RequestId> Cluster::moving() const {
  std::vector<RequestId> ids;
  for (const auto& [id, r] : requests_) {
    if (r.to != no_engine) ids.push_back(id);
  }
  return ids;
}

template <typename Call>
bool Cluster::told(const Call& call) {
  const auto first = call(*packers_.front());
  if (!first.ok()) return false;
  for (std::size_t i = 1; i < packers_.size(); ++i) EXPECT_TRUE(call(*packers_[i]).ok());
  return true;
}

bool Cluster::join(const EngineSpec& spec) {
  if (!told([&](Packer& p) { return p.join(spec); })) return false;
  engines_[spec.id] = {spec, EngineState::asleep};
  return true;
}

bool Cluster::resize(EngineId id, std::uint64_t kv_tokens) {
  if (!told([&](Packer& p) { return p.resize(id, kv_tokens); })) return false;
  engines_.at(id).spec.kv_tokens = kv_tokens;
  return true;
}

bool Cluster::drain(EngineId id) {
  if (!told([&](Packer& p) { return p.drain(id); })) return false;
  engines_.at(id).state = EngineState::draining;
  return true;
}

bool Cluster::gone(EngineId id) {
  if (!told([&](Packer& p) { return p.gone(id); })) return false;
  EXPECT_EQ(held(id), 0U);
  engines_.erase(id);
  return true;
}

bool Cluster::lose(EngineId id) {
  std::vector<RequestId> expected;
  for (auto& [request, r] : requests_) {
    const bool moves = r.to != no_engine;
    const bool was_here = r.dropped ? r.to == id : r.engine == id;
    if (was_here) expected.push_back(request);
    if (was_here || (moves && r.to == id)) {
      r.to = no_engine;
      if (was_here) r.engine = no_engine;
      r.dropped = false;
    }
  }
  for (const auto& each : packers_) {
    const auto waiting = each->lost(id);
    EXPECT_TRUE(waiting.ok());
    if (waiting.ok()) {
      EXPECT_EQ(*waiting, expected);
    }
  }
  engines_.erase(id);
  return true;
}

bool Cluster::arrive(const RequestSpec& spec) {
  Placement first;
  for (std::size_t i = 0; i < packers_.size(); ++i) {
    const auto placed = packers_[i]->arrive(spec);
    if (!placed.ok()) {
      EXPECT_EQ(i, 0U);
      return false;
    }
    if (i == 0) first = *placed;
    EXPECT_EQ(*placed, first) << "request " << static_cast<std::uint64_t>(spec.id);
  }
  requests_[spec.id] = {spec, spec.tokens, ++arrivals_, no_engine, no_engine, false, 0};
  check_placement(first);
  return true;
}

bool Cluster::grow(RequestId id, std::uint64_t tokens) {
  if (!told([&](Packer& p) { return p.grew(id, tokens); })) return false;
  requests_.at(id).tokens = tokens;
  return true;
}

bool Cluster::end(RequestId id) {
  if (!told([&](Packer& p) { return p.ended(id); })) return false;
  requests_.erase(id);
  return true;
}

bool Cluster::end_move(RequestId id, bool failed) {
  RealRequest& r = requests_.at(id);
  if (!told([&](Packer& p) { return failed ? p.failed(id, r.plan) : p.moved(id, r.plan); })) {
    return false;
  }
  if (!failed) {
    r.engine = r.to;
  } else if (r.dropped) {
    r.engine = no_engine;
  }
  r.to = no_engine;
  r.dropped = false;
  return true;
}

void Cluster::end_moves() {
  for (const RequestId id : moving()) EXPECT_TRUE(end_move(id, false));
}

void Cluster::wake(EngineId id) {
  engines_.at(id).state = EngineState::active;
}

// --- plans ---------------------------------------------------------------------------------------

void Cluster::check_placement(const Placement& placed) {
  if (placed.engine == no_engine) return;
  ASSERT_TRUE(engines_.contains(placed.engine));
  RealRequest& r = requests_.at(placed.request);
  EXPECT_EQ(r.engine, no_engine);
  EXPECT_EQ(placed.wakes, engines_.at(placed.engine).state == EngineState::asleep);
  EXPECT_NE(engines_.at(placed.engine).state, EngineState::draining);
  wake(placed.engine);
  r.engine = placed.engine;
  EXPECT_LE(held(placed.engine), usable(placed.engine)) << "what is placed has room";
}

// Its prefix is copied along, unless someone who is there and does not move shares it.
std::uint64_t Cluster::to_copy(const Move& move, const std::vector<const Move*>& over) const {
  const RealRequest& r = requests_.at(move.request);
  const std::uint64_t all = (r.tokens + options_.block_tokens - 1) / options_.block_tokens;
  const bool there = std::any_of(requests_.begin(), requests_.end(), [&](const auto& each) {
    const auto& [id, other] = each;
    const bool stays = other.engine == move.to && other.to == no_engine && !other.dropped;
    const bool came = std::any_of(over.begin(), over.end(),
                                  [&, who = id](const Move* m) { return m->request == who; });
    return stays && !came && other.spec.prefix == r.spec.prefix;
  });
  return all * options_.block_tokens - (there ? shared(r) : 0);
}

// Stage by stage, both ends hold what moves in it.
void Cluster::check_moves(const Plan& plan) {
  EXPECT_LE(plan.moves.size(), plan.move_limit);
  std::set<RequestId> seen;
  std::uint64_t tokens = 0;
  for (const Move& move : plan.moves) {
    ASSERT_TRUE(requests_.contains(move.request));
    RealRequest& r = requests_.at(move.request);
    tokens += move.tokens;
    EXPECT_TRUE(seen.insert(move.request).second) << "moves twice";
    EXPECT_EQ(move.from, r.engine);
    EXPECT_EQ(r.to, no_engine) << "moves already";
    EXPECT_NE(move.from, move.to);
    ASSERT_TRUE(engines_.contains(move.to));
    EXPECT_EQ(engines_.at(move.to).state, EngineState::active);
    EXPECT_EQ(move.bytes, move.tokens * options_.bytes_per_token);
    if (move.dropped) r.dropped = true;
    r.plan = plan.number;
  }
  if (options_.max_move_tokens > 0 && plan.moves.size() > 1) {
    EXPECT_LE(tokens, options_.max_move_tokens);
  }
  std::vector<const Move*> over;
  for (std::size_t i = 0; i < plan.moves.size();) {
    const std::uint32_t stage = plan.moves[i].stage;
    const std::size_t first = i;
    for (; i < plan.moves.size() && plan.moves[i].stage == stage; ++i) {
      RealRequest& r = requests_.at(plan.moves[i].request);
      r.to = plan.moves[i].to;
      EXPECT_LE(held(r.to), usable(r.to)) << "stage " << stage << " has no room";
    }
    if (i < plan.moves.size()) {
      EXPECT_GT(plan.moves[i].stage, stage);
    }
    for (std::size_t j = first; j < i; ++j) {
      EXPECT_EQ(plan.moves[j].tokens, to_copy(plan.moves[j], over));
    }
    // Over: the sources give them up. Put back below.
    for (std::size_t j = first; j < i; ++j) {
      RealRequest& r = requests_.at(plan.moves[j].request);
      r.engine = r.to;
      r.to = no_engine;
      r.dropped = false;
      over.push_back(&plan.moves[j]);
    }
  }
  for (const Move* move : over) {
    RealRequest& r = requests_.at(move->request);
    r.engine = move->from;
    r.to = move->to;
    r.dropped = move->dropped;
  }
}

void Cluster::check_counts() {
  const PackerStatus status = countable(packer().status());
  std::map<EngineId, std::uint64_t> held_by = all_held();
  std::uint64_t sum = 0;
  for (const auto& [id, engine] : engines_) {
    const auto is = packer().engine(id);
    ASSERT_TRUE(is.ok());
    EXPECT_EQ(is->held_tokens, held_by[id]) << "engine " << static_cast<std::uint64_t>(id);
    EXPECT_EQ(is->state, engine.state) << "engine " << static_cast<std::uint64_t>(id);
    sum += held_by[id];
  }
  EXPECT_EQ(status.held_tokens, sum);
  EXPECT_EQ(status.moving, moving().size());
  EXPECT_EQ(status.waiting + status.resident + status.moving, requests_.size());
  for (const auto& other : packers_) EXPECT_EQ(countable(other->status()), status);
}

void Cluster::check_end(const Plan& plan) {
  for (const EngineId id : plan.freed) {
    EXPECT_EQ(held(id), 0U);
    EXPECT_EQ(engines_.at(id).state, EngineState::active);
    engines_.at(id).state = EngineState::asleep;
  }
  for (const EngineId id : plan.drained) EXPECT_EQ(held(id), 0U);
  // What stays fits, or nobody is left to be preempted.
  std::map<EngineId, std::uint64_t> staying;
  std::set<std::pair<EngineId, PrefixId>> prefixes;
  std::set<EngineId> with_residents;
  for (const auto& [request, r] : requests_) {
    const EngineId home = r.to != no_engine ? r.to : r.engine;
    if (home == no_engine) continue;
    staying[home] += own(r);
    if (prefixes.insert({home, r.spec.prefix}).second) staying[home] += shared(r);
    if (r.to == no_engine) with_residents.insert(home);
  }
  for (const EngineId id : with_residents) {
    EXPECT_LE(staying[id], engines_.at(id).spec.kv_tokens) << "nobody was preempted";
  }
}

const Plan& Cluster::epoch() {
  const Plan& plan = packer().epoch();
  for (std::size_t i = 1; i < packers_.size(); ++i) {
    const Plan& other = packers_[i]->epoch();
    EXPECT_EQ(plan.moves.size(), other.moves.size());
    EXPECT_EQ(plan.certificate, other.certificate);
    EXPECT_TRUE(plan == other) << "plan " << plan.number;
  }
  for (const Preemption& out : plan.preemptions) {
    EXPECT_EQ(requests_.at(out.request).engine, out.engine);
    requests_.at(out.request).engine = no_engine;
  }
  std::set<EngineId> placed_awake;
  for (const Placement& placed : plan.placements) {
    if (placed.wakes) placed_awake.insert(placed.engine);
  }
  for (const EngineId id : plan.wake) {
    EXPECT_EQ(engines_.at(id).state, EngineState::asleep);
    if (!placed_awake.contains(id)) wake(id);
  }
  check_moves(plan);
  for (const Placement& placed : plan.placements) check_placement(placed);
  check_end(plan);
  check_counts();
  return plan;
}

void Cluster::settle(int most) {
  for (int i = 0; i < most; ++i) {
    const Plan& plan = epoch();
    if (plan.moves.empty() && plan.placements.empty()) return;
    end_moves();
  }
}

}  // namespace aqua::packing::test
