// SPDX-License-Identifier: Apache-2.0
// Second implementations of the policies, for the first ones to be held against: engines and
// requests in maps, scanned for every question. No index is kept, no sum, no order: what
// docs/plan/packing.md says is worked out from the fleet as it is. A plan in the making is a copy
// of the whole fleet, and what is taken back is an older copy.
//
// They show that indexes and sums of the first ones agree with scans. They do not show that the
// rules are the paper's: they were written with the first ones at hand, and follow them in what
// neither the page nor the paper says (eight engines looked at, the order of waking, ties).
//
// They believe their caller, whose calls the packer under test has checked already.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aqua/packing/packer.hpp"

namespace aqua::packing::test {

struct NaiveRequest {
  RequestSpec spec{};
  std::uint64_t own = 0, shared = 0, arrival = 0;
  std::uint64_t tokens = 0;  // as last told
  RequestState state = RequestState::waiting;
  EngineId home = no_engine, source = no_engine;
};

struct NaiveEngine {
  EngineSpec spec{};
  EngineState state = EngineState::asleep;
  std::uint64_t activated = 0;
};

// All that a plan changes.
struct NaiveFleet {
  std::map<EngineId, NaiveEngine> engines{};
  std::map<RequestId, NaiveRequest> requests{};
  std::vector<std::pair<RequestId, Reason>> touched{};  // by the plan, in the order it came to them
  std::vector<EngineId> woken{};                        // by moves
};

class NaivePacker : public Packer {
 public:
  NaivePacker(std::string policy, const PackerOptions& options)
      : policy_(std::move(policy)), options_(options) {}
  std::string_view name() const noexcept override { return policy_; }
  Result<void> join(const EngineSpec& engine) override;
  Result<void> resize(EngineId engine, std::uint64_t kv_tokens) override;
  Result<void> drain(EngineId engine) override;
  Result<void> gone(EngineId engine) override;
  Result<std::vector<RequestId>> lost(EngineId engine) override;
  Result<Placement> arrive(const RequestSpec& request) override;
  Result<void> grew(RequestId request, std::uint64_t tokens) override;
  Result<void> ended(RequestId request) override;
  const Plan& epoch() override;
  Result<void> moved(RequestId request, std::uint64_t plan) override;
  Result<void> failed(RequestId request, std::uint64_t plan) override;
  Result<RequestStatus> request(RequestId request) const override;
  Result<EngineStatus> engine(EngineId engine) const override;
  PackerStatus status() const noexcept override;

 private:
  using Ids = std::vector<EngineId>;
  // --- counting, naive_fleet.cpp -----------------------------------------------------------------
  std::uint64_t blocks(std::uint64_t tokens) const;
  std::uint64_t usable(EngineId id) const;
  std::uint64_t held(EngineId id) const;
  std::uint64_t leaving(EngineId id) const;
  std::uint64_t staying(EngineId id) const { return held(id) - leaving(id); }
  std::int64_t room(EngineId id) const;
  bool has_prefix(EngineId id, PrefixId prefix) const;
  std::uint64_t need(const NaiveRequest& r, EngineId id) const;
  bool fits(const NaiveRequest& r, EngineId id) const;
  bool in_transit(EngineId id) const;  // a move comes or goes
  bool has_home(EngineId id) const;    // for a request that is there to stay, or comes
  std::uint64_t written(const NaiveRequest& r) const { return blocks(r.tokens); }
  // By a request that is there and does not move.
  bool prefix_kept(EngineId id, PrefixId prefix) const;
  // Residents that do not move, the smallest first; of equals the lowest id.
  std::vector<RequestId> residents(EngineId id) const;
  std::uint64_t reference() const;
  std::uint64_t bound() const;
  std::uint64_t in_use() const;
  bool few_enough() const { return 3 * in_use() <= 4 * bound() + 9; }
  std::vector<RequestId> queue(bool too_large) const;
  Ids engines_that(EngineState state) const;
  Ids overloaded() const;

  // --- choosing ------------------------------------------------------------------------------
  struct Chosen {
    EngineId engine = no_engine;
    Reason reason = Reason::waits;
  };
  EngineId tightest(const Ids& among, std::int64_t least) const;
  EngineId sharer(const NaiveRequest& r, EngineId except, bool worst) const;
  Chosen fit(const NaiveRequest& r, EngineId except, bool worst) const;
  Chosen place(const NaiveRequest& r, EngineId except) const;
  Chosen choose(const NaiveRequest& r, EngineId except) const;

  // --- a plan, naive_plan.cpp --------------------------------------------------------------------
  bool displaced(RequestId id) const;
  std::uint64_t moves_made() const;
  bool affords(RequestId id) const;
  void relocate(RequestId id, EngineId to, Reason reason);
  bool move_off(RequestId id, Reason reason, bool wake);
  Placement send(RequestId id, Chosen chosen);
  void evacuate();
  bool relieve_once(EngineId id);
  void stage_moves();
  bool begin_rounds(std::vector<Move>& wanted);  // false: one more is dropped
  void preempt();
  void place_waiting();
  void close();

  // --- policies, naive_policies.cpp --------------------------------------------------------------
  bool moves() const { return policy_ != "bf" && policy_ != "wf"; }
  void improve();
  void balance();
  void empty_engines();
  bool empty_one();
  void repair();
  bool repair_once();
  bool admit(RequestId id, EngineId to, std::uint64_t most_guest, Reason reason);
  bool cut_short_ = false;  // the plan's limit ended a repair in its middle
  char class_of(RequestId id) const;
  std::vector<RequestId> of_class(EngineId id, const std::string& classes) const;
  // Active engines without moves under way, of these classes; the one woken last at the end.
  Ids board(const std::string& classes) const;
  std::uint64_t left(EngineId id, const std::string& natives) const;
  bool three_quarters(EngineId id) const { return 4 * held(id) >= 3 * usable(id); }
  Ids singles() const;
  std::vector<RequestId> loose() const;
  Ids holes(char of) const;
  Ids thin() const;
  Ids sparse() const;
  bool properties() const;

  const std::string policy_;
  const PackerOptions options_;
  NaiveFleet now_, before_;  // before_: as the plan began
  Plan plan_;
  PackerStatus totals_;
  std::uint64_t events_ = 0, arrivals_ = 0, wakings_ = 0;
};

}  // namespace aqua::packing::test
