// SPDX-License-Identifier: Apache-2.0
// Each policy plans as its naive second does, under random arrivals, growth, ends, engines that
// come and go, and moves that take time and fail.
#include <string>

#include "tests/systems/packing/cluster.hpp"
#include "tests/systems/packing/naive_packer.hpp"

namespace aqua::packing::test {
namespace {

class Naive : public ::testing::TestWithParam<std::string> {};

struct Seen {
  std::uint64_t moves = 0, preemptions = 0, stages = 0, dropped = 0;
  std::uint64_t reasons[kReasons] = {};
};

void add(Seen& seen, const Plan& plan) {
  seen.preemptions += plan.preemptions.size();
  for (const Move& move : plan.moves) {
    seen.moves += 1;
    seen.stages += move.stage > 0;
    seen.dropped += move.dropped;
    seen.reasons[static_cast<std::size_t>(move.reason)] += 1;
  }
}

// A packer that notes what it answers.
class Noted final : public Packer {
 public:
  Noted(std::unique_ptr<Packer> packer, Seen& seen) : packer_(std::move(packer)), seen_(seen) {}
  std::string_view name() const noexcept override { return packer_->name(); }
  Result<void> join(const EngineSpec& e) override { return packer_->join(e); }
  Result<void> resize(EngineId e, std::uint64_t kv) override { return packer_->resize(e, kv); }
  Result<void> drain(EngineId e) override { return packer_->drain(e); }
  Result<void> gone(EngineId e) override { return packer_->gone(e); }
  Result<std::vector<RequestId>> lost(EngineId e) override { return packer_->lost(e); }
  Result<Placement> arrive(const RequestSpec& r) override { return packer_->arrive(r); }
  Result<void> grew(RequestId r, std::uint64_t n) override { return packer_->grew(r, n); }
  Result<void> ended(RequestId r) override { return packer_->ended(r); }
  const Plan& epoch() override {
    const Plan& plan = packer_->epoch();
    add(seen_, plan);
    return plan;
  }
  Result<void> moved(RequestId r, std::uint64_t n) override { return packer_->moved(r, n); }
  Result<void> failed(RequestId r, std::uint64_t n) override { return packer_->failed(r, n); }
  Result<RequestStatus> request(RequestId r) const override { return packer_->request(r); }
  Result<EngineStatus> engine(EngineId e) const override { return packer_->engine(e); }
  PackerStatus status() const noexcept override { return packer_->status(); }

 private:
  std::unique_ptr<Packer> packer_;
  Seen& seen_;
};

PackerOptions options_for(std::uint64_t seed) {
  return {.watermark = seed % 3 == 0 ? 0 : 0.05 * static_cast<double>(seed % 4),
          .max_moves = seed % 5 == 0 ? 2U : 20U,
          .max_move_tokens = seed % 7 == 0 ? 700U : 0U,
          .reserve = seed % 11 == 0,
          .near_slack = seed % 2 == 0 ? 0.1 : 0,
          .block_tokens = seed % 4 == 0 ? 16U : 1U,
          .bytes_per_token = 3};
}

Weather weather_for(std::uint64_t seed) {
  return {.seed = seed,
          .epochs = 10,
          .capacities_differ = seed % 6 == 1,
          .prefixes = seed % 5 == 2,
          .engines_change = seed % 3 == 1,
          .moves_take_time = seed % 2 == 1,
          .arrivals = 6,
          .lives = 4,
          .growth = seed % 4 == 3 ? 0U : 30U,
          .sizes = static_cast<int>(seed / 2 % 4)};
}

TEST_P(Naive, PlansTheSame) {
  Seen seen;
  for (std::uint64_t seed = 1; seed <= 500 && !HasFailure(); ++seed) {
    SCOPED_TRACE(GetParam() + " seed " + std::to_string(seed));
    const PackerOptions options = options_for(seed);
    Cluster::Packers both;
    both.push_back(std::make_unique<Noted>(make_packer(GetParam(), options).value(), seen));
    both.push_back(std::make_unique<NaivePacker>(GetParam(), options));
    Cluster cluster(std::move(both), options);
    play(cluster, weather_for(seed));
  }
  const bool moves = GetParam() != "bf" && GetParam() != "wf";
  if (!moves) {
    EXPECT_EQ(seen.moves, 0U);
    EXPECT_GT(seen.preemptions, 100U) << "no engine was ever full";
    return;
  }
  EXPECT_GT(seen.moves, 1000U);
  EXPECT_GT(seen.stages, 10U) << "no move ever waited for another's room";
  const auto times = [&](Reason reason) { return seen.reasons[static_cast<std::size_t>(reason)]; };
  EXPECT_GT(times(Reason::overload), 50U);
  EXPECT_GT(times(Reason::drains), 20U);
  if (GetParam() == "lb") {
    EXPECT_GT(times(Reason::balances), 500U);
  }
  if (GetParam() == "drain" || GetParam() == "pack") {
    EXPECT_GT(times(Reason::empties), 500U);
  }
  if (GetParam() == "mell") {
    EXPECT_GT(seen.dropped, 0U) << "no moves ever waited for each other in a cycle";
    EXPECT_GT(times(Reason::beside_large), 100U);
    EXPECT_GT(times(Reason::completes), 100U);
    EXPECT_GT(times(Reason::fills_gap), 100U);
    EXPECT_GT(times(Reason::makes_room), 20U);
  }
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}

INSTANTIATE_TEST_SUITE_P(Each, Naive, ::testing::ValuesIn(packer_names()), name_of);

}  // namespace
}  // namespace aqua::packing::test
