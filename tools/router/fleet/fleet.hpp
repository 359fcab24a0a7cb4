// SPDX-License-Identifier: Apache-2.0
// Fleet knows the engines and which of them has which request. Where a request goes, and which
// move, is the packer's decision (aqua/packing/packer.hpp); the fleet tells it what it sees, and
// posts its orders to the requests' mailboxes.
//
// What an engine says of its capacity is believed until it refuses a request or breaks one off:
// then it gets nothing more for a while (`shy`), and keeps what it has, which may grow.
// Silence is no death, but nobody waits for it: an engine that misses its health checks is down,
// and its requests are continued elsewhere under higher turns. What it still says is not heard.
//
// A request that an operator has moved stays where he has moved it (`pinned`), and one that cannot
// move stays at its first place: the packer does not know it any more, and what it holds is taken
// off the capacity of its engine.
//
// Threads: every method may be called concurrently. One of its own makes the plans, one for each
//          engine watches its health.
// Owns:    no store: what it knows it has asked the engines, and is told by its requests.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "aqua/migration/move.hpp"
#include "aqua/packing/packer.hpp"
#include "aqua/result.hpp"
#include "base/mutex.hpp"
#include "tools/router/decide/move_end.hpp"
#include "tools/router/fleet/engine.hpp"
#include "tools/router/fleet/sweeps.hpp"
#include "tools/router/flow/mailbox.hpp"

namespace aqua::router {

struct FleetOptions {
  std::string policy{packing::kDefaultPacker};
  packing::PackerOptions packing{};
  std::chrono::milliseconds epoch{1000};   // between two plans
  std::chrono::milliseconds health{1000};  // between two checks
  unsigned misses = 2;                     // checks in a row after which an engine is down
  std::chrono::milliseconds shy{3000};     // that an engine gets nothing more after a refusal
  std::uint64_t default_tokens = 1 << 20;  // of KV, for engines that do not tell
  std::size_t most_requests = 4096;
};

// How an attempt ended that did not end well, as the fleet counts it.
enum class FaultKind : std::uint8_t { broke_off, silent, refused, malformed };
inline constexpr std::array<const char*, 4> kFaultNames{"broke_off", "silent", "refused",
                                                        "malformed"};

struct EngineView {
  std::string name{}, url{}, model{}, dialect{}, state{}, fault{};
  std::string pool{};               // of KV, that it hands over; "": none
  bool pool_away = false;           // its keeper is
  std::uint64_t told_tokens = 0;    // of KV, as it says; 0: never seen
  std::uint64_t usable_tokens = 0;  // that may be filled now
  std::uint64_t held_tokens = 0;    // of requests on it, both ends of moves
  std::uint64_t requests = 0;
  std::array<std::uint64_t, kFaultNames.size()> faults{};
};
struct RequestView {
  std::string name{}, engine{}, moves_to{};
  std::uint64_t tokens = 0;
  bool by_operator = false;
  std::string stays{};        // why it cannot move
  std::string move_failed{};  // why its last move failed; "": it did not
  std::string failed_as{};    // MoveEnd's name of that
};
// A move that is over, as operators are shown it.
struct MoveView {
  std::uint64_t number = 0;  // rises with each move that is over
  std::string request{}, from{}, to{};
  std::string why{};  // where it failed
  migration::Kind kind = migration::Kind::kv;
  MoveEnd end = MoveEnd::done;
  std::string cause{};  // why it was ordered: kOperator, or the reason of the packer's plan
  std::chrono::milliseconds took{0};           // since it was ordered
  std::chrono::system_clock::time_point at{};  // when it was over
};
struct FleetCounts {
  std::uint64_t requests = 0, waiting = 0;
  std::uint64_t sweeps = 0;                  // that no engine has done yet
  std::chrono::milliseconds oldest_sweep{};  // of these, for how long
  std::uint64_t sweeps_forgotten = 0;        // because there were too many
  MoveCounts moves{};
  std::uint64_t recoveries = 0, plans = 0;
};

class Fleet {
 public:
  // invalid_argument: no such policy, or a name twice.
  [[nodiscard]] static Result<std::unique_ptr<Fleet>> open(const FleetOptions& options,
                                                           std::vector<EngineEndpoint> engines);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // --- requests ------------------------------------------------------------------------------
  struct Newcomer {
    std::string name{};   // what operators call it
    std::string stays{};  // why it cannot move
    std::uint64_t tokens = 1;
    std::uint64_t max_new = 0;
    std::shared_ptr<Mailbox> mail{};
  };
  // An order to begin comes by the mailbox, now or once there is room. unavailable: no engine is
  // up, or too many requests are here; invalid_argument: larger than every engine.
  [[nodiscard]] Result<packing::RequestId> arrive(Newcomer newcomer);
  // The request's attempt on `engine` has died, and another place is looked for until the request
  // leaves. Answers the number that the request has from now on: orders by the old one are void.
  [[nodiscard]] packing::RequestId again(packing::RequestId request, const std::string& engine,
                                         FaultKind kind, const std::string& why);
  // Counts a fault of `engine`, where a move to it has failed. Does not end the move: move_over()
  // does.
  void fault(const std::string& engine, FaultKind kind, const std::string& why);
  // The move that `order` asked for is over. `kind`: as it was made, or meant to be. `why` it
  // failed, for operators. `begun`: false where it only waited for the answer's first token, which
  // says nothing against moves by KV. A plan's that waited for it in vain (not_yet) is told of the
  // request alone: it is neither counted nor among the last moves. A later move may have been
  // ordered by then, where an engine went down: it goes on unless this one is done.
  void move_over(const FleetOrder& order, migration::Kind kind, MoveEnd end,
                 const std::string& why = {}, bool begun = true);
  // The request's engine has died, and it goes on at `engine`, which had its KV or spoke already:
  // plans leave it there.
  void goes_on_at(packing::RequestId request, const std::string& engine);
  // It cannot move from now on, for this reason.
  void stays(packing::RequestId request, const std::string& why);
  void leave(packing::RequestId request);
  // Parcels of the request that wait in these pools, of moves up to this turn from one to the
  // other, are ended by whichever of their engines is there. It may be one pool.
  void sweep(const std::string& from, const std::string& to, const std::string& request,
             Turn up_to);
  // An engine that is up, another one each time, to ask for ids; unavailable if none is.
  [[nodiscard]] Result<std::shared_ptr<const EngineEndpoint>> any();

  // --- operators -----------------------------------------------------------------------------
  // not_found; failed_precondition: it is not up, drains, or holds requests still (resume).
  [[nodiscard]] Result<void> drain(const std::string& engine);
  [[nodiscard]] Result<void> resume(const std::string& engine);
  // `by_tokens`: though the engines could hand KV over.
  [[nodiscard]] Result<void> move(const std::string& request, const std::string& engine,
                                  bool by_tokens = false);

  [[nodiscard]] std::vector<EngineView> engines() const;
  [[nodiscard]] std::vector<RequestView> requests() const;
  // Those that were over last, the latest first.
  [[nodiscard]] std::vector<MoveView> last_moves() const;
  [[nodiscard]] FleetCounts counts() const;
  // The model that is served, and its longest sequence; unavailable until an engine has told.
  [[nodiscard]] Result<std::shared_ptr<const EngineEndpoint>> model() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Engine {
    EngineEndpoint asked{};                            // as the options have it
    std::shared_ptr<const EngineEndpoint> endpoint{};  // while it is up
    packing::EngineId id{};
    std::uint64_t told = 0, set = 0;  // tokens: as it says; as the packer has it
    Clock::time_point shy_until{};
    bool draining = false;
    bool doubted = false;  // another may have come in its place: it is asked what it is
    unsigned missed = 0;
    std::string fault{};
    std::array<std::uint64_t, kFaultNames.size()> faults{};
  };
  struct Request {
    Newcomer who{};
    packing::EngineId at{}, to{};
    std::string move_failed{};
    MoveEnd last_move = MoveEnd::done;
    // The move that was ordered last. The name is kept: `at` is cleared where its engine goes down.
    std::uint64_t last_ordered = 0;
    std::string ordered_from{};
    MoveBy next_move = MoveBy::kv;  // a plan's
    bool pinned = false;            // by an operator, or because it cannot move
    bool parked = false;            // larger than what may be filled of any engine now
  };
  struct PendingMove {
    packing::Move move{};
    std::uint64_t plan = 0;
  };

  Fleet(const FleetOptions& options, std::unique_ptr<packing::Packer> packer);

  // fleet_engines.cpp
  void watch(packing::EngineId id, const std::stop_token& stop);
  void seen(packing::EngineId id, EngineFacts facts);
  void ask_facts_again(packing::EngineId id, const std::stop_token& stop);
  void ask_pool_again(packing::EngineId id, const std::stop_token& stop);
  void missed(packing::EngineId id, const Error& why);
  [[nodiscard]] std::vector<std::shared_ptr<const EngineEndpoint>> of_pool(
      const std::string& pool) const;
  [[nodiscard]] bool hands_over_now(packing::EngineId a, packing::EngineId b) const
      AQUA_REQUIRES(mu_);
  [[nodiscard]] std::string unlike(const EngineFacts& facts) const AQUA_REQUIRES(mu_);
  void down(Engine& engine) AQUA_REQUIRES(mu_);
  [[nodiscard]] std::uint64_t pinned_to(packing::EngineId id) const AQUA_REQUIRES(mu_);  // tokens
  void set_capacities() AQUA_REQUIRES(mu_);
  [[nodiscard]] Engine* find(const std::string& name) AQUA_REQUIRES(mu_);
  [[nodiscard]] const Engine* find(packing::EngineId id) const AQUA_REQUIRES(mu_);
  [[nodiscard]] std::string name_of(packing::EngineId id) const AQUA_REQUIRES(mu_);  // "": none

  // fleet.cpp
  void blame(Engine& engine, FaultKind kind, const std::string& why) AQUA_REQUIRES(mu_);
  [[nodiscard]] Result<void> settle(packing::RequestId id, Request& request) AQUA_REQUIRES(mu_);
  void keep_in_list(const Request& request, const FleetOrder& order, migration::Kind kind,
                    MoveEnd end, const std::string& why) AQUA_REQUIRES(mu_);
  void begin_anew(packing::RequestId id, Request& request) AQUA_REQUIRES(mu_);
  void place(packing::RequestId id, packing::EngineId engine) AQUA_REQUIRES(mu_);
  void pin(packing::RequestId id, Request& request) AQUA_REQUIRES(mu_);
  void order_move(packing::RequestId id, Request& request, packing::EngineId to, std::uint64_t plan,
                  std::string_view cause, bool by_tokens) AQUA_REQUIRES(mu_);
  void order(packing::RequestId id, OrderKind kind, packing::EngineId engine) AQUA_REQUIRES(mu_);

  // fleet_plans.cpp
  void plan_for_ever(const std::stop_token& stop);
  void plan() AQUA_REQUIRES(mu_);
  void carry_out(const packing::Plan& plan) AQUA_REQUIRES(mu_);
  void begin_moves() AQUA_REQUIRES(mu_);
  void begin_move(const PendingMove& pending) AQUA_REQUIRES(mu_);

  const FleetOptions options_;
  mutable Mutex mu_;
  CondVar changed_;
  bool wanted_ AQUA_GUARDED_BY(mu_) = false;  // a plan at once
  bool over_ AQUA_GUARDED_BY(mu_) = false;
  std::unique_ptr<packing::Packer> packer_ AQUA_GUARDED_BY(mu_);
  std::map<packing::EngineId, Engine> engines_ AQUA_GUARDED_BY(mu_);
  std::map<packing::RequestId, Request> requests_ AQUA_GUARDED_BY(mu_);
  std::vector<PendingMove> pending_ AQUA_GUARDED_BY(mu_);                    // of later stages
  std::map<packing::RequestId, std::uint32_t> moving_ AQUA_GUARDED_BY(mu_);  // their stages
  std::deque<MoveView> last_moves_ AQUA_GUARDED_BY(mu_);                     // the latest first
  std::uint64_t moves_over_ AQUA_GUARDED_BY(mu_) = 0;
  std::string model_ AQUA_GUARDED_BY(mu_);
  std::vector<TokenId> fingerprint_ AQUA_GUARDED_BY(mu_);
  std::shared_ptr<const EngineEndpoint> first_ AQUA_GUARDED_BY(mu_);  // that told of the model
  std::uint64_t last_request_ AQUA_GUARDED_BY(mu_) = 0;
  std::uint64_t last_move_ AQUA_GUARDED_BY(mu_) = 0;  // that was ordered
  std::size_t last_asked_ AQUA_GUARDED_BY(mu_) = 0;   // by any()
  FleetCounts counts_ AQUA_GUARDED_BY(mu_);
  std::vector<std::jthread> threads_;
  Sweeps sweeps_;
};

}  // namespace aqua::router
