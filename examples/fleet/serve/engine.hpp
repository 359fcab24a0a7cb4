// SPDX-License-Identifier: Apache-2.0
// Engine answers requests with a model, batched by the library's scheduler, and takes part in
// moves: as the source that hands a request over, and as the destination that takes it.
//
// Everything happens between two iterations: requests, orders and news of the carrier are taken in,
// then the next batch is computed. A move by KV on one pool copies nothing but the last, partly
// filled block: the source shares its blocks, the destination takes one more part in each. So a
// round of copies takes no time, and the hold begins at the boundary at which the move was ordered;
// until another speaks the source has everything, and goes on without asking for anything back.
//
// By segments the source copies finished blocks while it goes on, in two rounds at most, and the
// rest while it is held; the destination copies all of it into blocks of its own. Its carrier may
// reach engines of other keepers, by couriers.
//
// Where the pool's keeper dies the engine goes on with the blocks that it has. It moves nothing by
// KV meanwhile, and counts no block that it would have to ask for. Once a keeper is there again it
// joins the pool anew, and copies its requests' KV from the former into it. By segments its blocks
// are its own, and nothing but moves is gone meanwhile.
//
// An engine without a keeper moves nothing by KV. While it has no request it lends its
// memory; the next request wakes it by a reclaim, and begins once what it needs is back.
//
// Threads: one of its own; public methods any.
#pragma once

#include <atomic>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "aqua/migration/destination.hpp"
#include "aqua/migration/note.hpp"
#include "aqua/migration/source.hpp"
#include "aqua/schedule/scheduler.hpp"
#include "options.hpp"
#include "serve/cache.hpp"
#include "serve/inbox.hpp"
#include "serve/kept_prefixes.hpp"
#include "serve/outbox.hpp"
#include "serve/pool_watch.hpp"
#include "serve/steps.hpp"

namespace aqua::fleet {

struct EngineStatus {
  schedule::SchedulerStatus scheduler{};
  std::uint32_t blocks = 0;  // that it may hold
  std::uint32_t rooms = 0;   // kept for requests on their way here
  std::uint32_t kept = 0;    // of prefixes computed ahead
  std::uint64_t iterations = 0;
  std::uint64_t prefilled = 0;        // tokens
  std::uint64_t requests = 0;         // here, and on their way here
  std::uint64_t in_moves = 0;         // of these, held or on their way: they compute nothing here
  std::uint64_t moved_in = 0;         // by KV
  std::uint64_t copies = 0;           // of ranges of KV, into parcels
  std::uint64_t recalls_refused = 0;  // of parcels, which were swept then
  std::uint64_t rejoins = 0;          // of the pool, with another keeper
  std::uint64_t lent_bytes = 0;
  std::uint64_t wakes = 0;  // requests that waited for lent memory
  double wake_seconds = 0;  // so long, together
  bool keeper_away = false;
  std::string why_away{};  // why the pool could not be joined again yet; "": it was not tried
};

class Engine {
 public:
  // Throws Failure where the pool cannot be joined. All outlive it. Who gives the runtime its
  // callbacks posts MemoryNews to the inbox when its budget changes.
  Engine(Runtime& runtime, Inbox& inbox, Model& model, const Options& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] std::shared_ptr<Outbox> submit(Asked asked);
  // Nobody reads it any more: whatever it is of ends.
  void hang_up(const std::shared_ptr<Outbox>& out);
  // not_found: no such attempt is here. What comes of it is told on the attempt's stream.
  [[nodiscard]] Result<void> order(Order order);
  [[nodiscard]] EngineStatus status() const;
  // Blocks until the engine has failed, and says why.
  [[nodiscard]] std::string wait();

 private:
  using SequenceId = schedule::SequenceId;

  struct Source {
    migration::SourceMove move;
    std::uint64_t parcel = 0;
    migration::Turn turn = 0;
    migration::Turn number = 0;  // of the move
    std::uint32_t answered = 0;  // that the destination has been told
    bool closed = false;
    std::vector<std::uint32_t> fills{};  // where each ends, in blocks; of a pool none
    std::vector<Ticket> copies{};        // of them
  };
  struct Sequence {
    AttemptName name{};
    std::shared_ptr<Outbox> out{};
    std::vector<Token> tokens{};        // prompt and answer
    std::uint32_t prompt = 0;           // of these; the rest is the answer
    std::uint32_t least = 0, most = 0;  // tokens of the answer
    migration::Sampler sampler{};
    Blocks blocks{};
    std::uint32_t shared = 0;  // so many leading blocks are
    bool ahead = false;        // of one token, as ahead of a move by tokens: its KV is kept
    std::optional<Source> source{};
    std::vector<Ticket> copies{};  // of moves that are over; they may still read its blocks
    migration::Turn over = 0;      // moves up to this one are over, in whatever order orders come
    [[nodiscard]] std::uint32_t answer() const {
      return static_cast<std::uint32_t>(tokens.size()) - prompt;
    }
  };
  // A request on its way here.
  struct Incoming {
    Asked asked{};
    std::shared_ptr<Outbox> out{};
    migration::DestinationMove move{};
    std::uint32_t room = 0;  // blocks
    std::optional<Parcel> parcel{};
    std::vector<Ticket> copies{};  // of its bytes, into the sequence's blocks
    Sequence sequence{};           // once it has landed
    migration::MigrationNote note{};
  };

  void run();
  // False: it fits once rooms that are kept for moves are free.
  [[nodiscard]] bool refuse_if_too_large(SequenceId id);
  // Fails with resource_exhausted where prompt and answer may need more than all that is here. What
  // does not fit beside rooms and kept prefixes waits until these are free.
  [[nodiscard]] Result<void> arrive(const schedule::Request& request);
  void take_news();
  void handle(Arrival& arrival);
  void handle(Hangup& gone);
  void handle(Ordered& ordered);
  void handle(PoolNews& news);
  void handle(PoolBack& back) { back_ = std::move(back.carrier); }
  void handle(MemoryNews& /*news*/) {}  // that it came is all
  void begin(Arrival& arrival);
  void compute(const schedule::Batch& batch);
  void speak(SequenceId id, Token token);
  // A token of the answer that the sequence has.
  void say(const Sequence& sequence, std::size_t at, std::string_view finish) const;
  void preempt(const schedule::Preemption& order);
  void drop_kv(Sequence& sequence);
  // Its scheduler knows it no more.
  void end(SequenceId id);
  void set_capacity();
  void pace();
  void tell_status();

  // engine_keeper.cpp
  void count_blocks();
  void rejoin();
  void take_carrier();
  void tell_rejoined();
  void watch_again();

  // engine_lending.cpp
  void rest();
  [[nodiscard]] bool has_to_wait(const Asked& asked) const;
  void wake(Arrival& arrival);
  void go_on_waking();
  [[nodiscard]] std::uint32_t blocks_here() const;

  // engine_destination.cpp
  void receive(Arrival& arrival);
  void take_parcel(Parcel parcel);
  void turn_away(std::uint64_t parcel);
  void land(Incoming& incoming);
  void landed(Incoming& incoming, const Result<void>& done);
  [[nodiscard]] Result<void> unpack(Incoming& incoming);
  [[nodiscard]] Result<void> take_blocks(Incoming& incoming);
  void grant(Incoming& incoming, migration::Position from);
  void tell(Incoming& incoming, migration::DestinationEvent event, const Reason& reason = {});
  void free_room(Incoming& incoming);

  // engine_source.cpp
  void begin_move(SequenceId id, const Order& order);
  void tell(SequenceId id, migration::SourceEvent event);
  void carry_out(SequenceId id, const migration::SourceOrder& order, migration::SourceEvent event);
  void hand_over(Sequence& sequence, std::uint32_t blocks);
  void go_on_with_move(SequenceId id);
  void close(SequenceId id);
  void release(SequenceId id);
  void depart(SequenceId id);
  void go_on_with_moves();
  void resume(SequenceId id, migration::Turn over);
  void recall(Sequence& sequence);
  void heard(const Delivery& delivery);
  [[nodiscard]] std::uint32_t computed(SequenceId id) const;
  // The parcel has ended already, and its delivery comes next: it was cancelled or superseded while
  // this process was stopped, say, or the keeper has died.
  [[nodiscard]] static bool its_delivery_tells(const Error& error) {
    return error.code == Code::not_found || error.code == Code::unavailable;
  }

  // engine_copies.cpp
  void fill(Sequence& sequence, std::uint32_t blocks);
  [[nodiscard]] bool is_open(const Source& source) const;
  [[nodiscard]] bool has_copied(const Source& source) const;
  [[nodiscard]] bool is_closed(const Source& source) const;
  // Its move is over. Copies that are still under way stay with the sequence.
  static void drop_source(Sequence& sequence);
  static void await_copies(Sequence& sequence);
  static void await_copies(Incoming& incoming);
  [[nodiscard]] bool copies_are_under_way() const;
  void admit(const std::string& from);
  [[nodiscard]] Result<void> begin_copies(Incoming& incoming,
                                          const std::vector<std::uint32_t>& fills);
  void go_on_landing();
  [[nodiscard]] Result<void> take_over(Incoming& incoming);

  const Options options_;
  const Model& model_;
  Cache cache_;
  std::unique_ptr<schedule::Scheduler> scheduler_;
  KeptPrefixes kept_;
  Steps steps_;
  Inbox& inbox_;
  std::map<SequenceId, Sequence> sequences_{};
  std::list<Incoming> incoming_{};
  struct Waking {
    Arrival arrival{};
    Inbox::Time since{}, until{};  // then it begins with what is here
  };
  std::list<Waking> waking_{};                     // arrivals whose memory is on its way back
  std::map<std::uint64_t, ParcelHead> parcels_{};  // given, and not heard of yet
  std::map<std::string, std::int64_t>
      admitted_{};  // by the giver's role: room that it has not used
  std::uint32_t rooms_ = 0;
  std::uint32_t pool_blocks_;  // that it may hold; fewer where the keeper is away
  std::uint64_t last_ = 0;
  std::chrono::steady_clock::time_point end_{};  // of the last iteration
  mutable std::mutex mu_;
  EngineStatus status_{};
  std::promise<std::string> failed_{};
  std::shared_ptr<Carrier> back_{};  // is to be joined once no request moves
  std::optional<PoolWatch> watch_{};
  std::thread thread_;
};

}  // namespace aqua::fleet
