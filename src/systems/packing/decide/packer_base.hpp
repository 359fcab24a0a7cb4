// SPDX-License-Identifier: Apache-2.0
// PackerBase is what all policies have in common: it checks calls, counts events, and makes a plan:
// engines that drain are emptied, full ones relieved, the policy improves what there is, and
// requests that wait are placed. A policy overrides place(), and improve() if it moves requests.
//
// Threads: not thread-safe.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "aqua/packing/packer.hpp"
#include "systems/packing/decide/draft.hpp"
#include "systems/packing/decide/fleet.hpp"

namespace aqua::packing {

struct Choice {
  Engine* engine = nullptr;  // nullptr: none
  Reason reason = Reason::waits;
};

class PackerBase : public Packer {
 public:
  PackerBase(const PackerOptions& options, bool moves)
      : options_(options), moves_(moves), fleet_(options_, moves), draft_(fleet_, options_) {}

  [[nodiscard]] Result<void> join(const EngineSpec& engine) final;
  [[nodiscard]] Result<void> resize(EngineId engine, std::uint64_t kv_tokens) final;
  [[nodiscard]] Result<void> drain(EngineId engine) final;
  [[nodiscard]] Result<void> gone(EngineId engine) final;
  [[nodiscard]] Result<std::vector<RequestId>> lost(EngineId engine) final;
  [[nodiscard]] Result<Placement> arrive(const RequestSpec& request) final;
  [[nodiscard]] Result<void> grew(RequestId request, std::uint64_t tokens) final;
  [[nodiscard]] Result<void> ended(RequestId request) final;
  [[nodiscard]] const Plan& epoch() final;
  [[nodiscard]] Result<void> moved(RequestId request, std::uint64_t plan) final;
  [[nodiscard]] Result<void> failed(RequestId request, std::uint64_t plan) final;
  [[nodiscard]] Result<RequestStatus> request(RequestId request) const final;
  [[nodiscard]] Result<EngineStatus> engine(EngineId engine) const final;
  [[nodiscard]] PackerStatus status() const noexcept final;

 protected:
  // Chooses an active engine other than `except` that has room now.
  [[nodiscard]] virtual Choice place(const Request& request, const Engine* except) = 0;
  // Moves requests, by the draft, so that fewer engines do, or loads are alike.
  virtual void improve() {}
  // Asked after improve(), as if all its moves were over: Certificate::properties, where engines
  // are alike, nobody shares a prefix, and nothing is under way.
  [[nodiscard]] virtual bool properties() const { return false; }

  // place(), or else a sleeping engine.
  [[nodiscard]] Choice choose(const Request& request, const Engine* except);
  // An engine that has its prefix, or else by best or worst fit.
  [[nodiscard]] Choice fit(const Request& request, const Engine* except, bool worst);
  // Whether as few engines are in use as Certificate::within asks for.
  [[nodiscard]] bool few_enough() const {
    return 3 * fleet_.engines_in_use() <= 4 * fleet_.bound() + 9;
  }

  const PackerOptions options_;
  const bool moves_;
  Fleet fleet_;
  Draft draft_;

 private:
  using Waiting = std::set<std::pair<std::uint64_t, RequestId>>;  // by arrival

  [[nodiscard]] Result<Request*> request_of(RequestId id, const char* call);
  [[nodiscard]] Result<Engine*> engine_of(EngineId id, const char* call);
  [[nodiscard]] Result<Request*> mover_of(RequestId id, std::uint64_t plan, const char* call);
  void enqueue(const Request& request);
  void dequeue(const Request& request);
  void requeue();
  [[nodiscard]] Placement send(Request& request, const Choice& choice);
  // Whether no engine may be filled with it, even alone.
  [[nodiscard]] bool too_large(const Request& request) const {
    return request.own + request.prefix_tokens > fleet_.reference();
  }
  void evacuate();
  void relieve(Engine& engine);
  [[nodiscard]] bool move_one_off(Engine& engine);
  [[nodiscard]] bool move_off(Request& request, Reason reason, bool wake);
  void preempt();
  void place_waiting();
  void close_plan();

  Plan plan_;
  Waiting waiting_, too_large_;
  std::map<RequestId, std::uint64_t> moving_;  // by which plan
  struct Prefix {
    std::uint64_t tokens = 0, requests = 0;
  };
  std::map<PrefixId, Prefix> prefixes_;  // of the requests that there are
  PackerStatus totals_;                  // what status() counts since the beginning
  std::uint64_t events_ = 0;
};

// Refuses options that cannot be, naming the field.
[[nodiscard]] Result<void> check(const PackerOptions& options);

}  // namespace aqua::packing
