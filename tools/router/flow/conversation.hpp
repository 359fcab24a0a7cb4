// SPDX-License-Identifier: Apache-2.0
// Conversation answers one request: it finds a place, has engines answer, moves and continues as
// the fleet orders, and tells its caller what passes to the client.
//
// Threads: one, the client's; everything reaches it by its mailbox.
// Ends:    with its last words, an error, or the caller's going: then every attempt is cut, at
//          whatever step of a move, and the fleet knows it no more. Whichever it is, it is counted
//          once: answered, failed, or gone, as also one that is destroyed before its end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "tools/router/decide/relay.hpp"
#include "tools/router/decide/stop_scanner.hpp"
#include "tools/router/fleet/fleet.hpp"
#include "tools/router/flow/attempt.hpp"
#include "tools/router/flow/mailbox.hpp"
#include "tools/router/flow/order_sender.hpp"
#include "tools/router/observe/counters.hpp"
#include "tools/router/speech/asked.hpp"

namespace aqua::router {

struct ConversationOptions {
  // The silence of an engine after which its attempt has died, but for one that is passed on whole.
  std::chrono::seconds silence{60};
  // That a move may keep the client waiting; and that an order to move by KV waits for the answer's
  // first token, before which the source has nothing to hand over.
  std::chrono::milliseconds hold{2000};
  std::chrono::milliseconds warm{60'000};   // that a destination may compute before
  std::chrono::milliseconds place{60'000};  // that a request waits for an engine
  unsigned tries = 5;                       // attempts that die without a token, one after another
  std::uint64_t most_behind = 4096;         // tokens that a client may be behind
};

class Conversation {
 public:
  using Alive = std::function<bool()>;

  // What passes: text and ids of some tokens, or the data of an event that is passed on.
  struct Words {
    std::string text{};
    std::vector<TokenId> ids{};
    std::string finish{};
    std::optional<std::string> raw{};
  };
  // `fleet` and `counters` outlive it. `body` is the request as it came.
  Conversation(Fleet& fleet, Counters& counters, const ConversationOptions& options, Asked asked,
               std::string body, std::string name);
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  // Finds the prompt's ids and a place in the fleet. Blocks while engines cut the prompt; `alive`
  // is asked meanwhile, and ends it with cancelled. Any other error is the client's.
  [[nodiscard]] Result<void> begin(const Alive& alive);
  // Blocks until something passes; `alive` is asked meanwhile, and ends it with cancelled. Once
  // over() nothing more comes. Any other error is the client's, and the last.
  [[nodiscard]] Result<std::vector<Words>> next(const Alive& alive);
  [[nodiscard]] bool over() const noexcept { return relay_.phase() == Phase::over; }

  [[nodiscard]] const Asked& asked() const noexcept { return asked_; }
  [[nodiscard]] std::uint64_t prompt_tokens() const noexcept { return prompt_.size(); }
  [[nodiscard]] std::uint64_t answer_tokens() const noexcept { return relay_.passed(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr const char* kNotAllTold = "its tokens were not all told";
  struct Move;

  [[nodiscard]] Result<void> arrive(const Alive& alive);
  [[nodiscard]] Result<std::vector<TokenId>> find_ids(const EngineEndpoint& engine,
                                                      const Alive& alive);
  Error gone();
  void handle(Piece& piece);
  void handle(RawPart& part);
  void handle(AttemptDied& died);
  void handle(WarmedUp& warmed);
  void handle(FleetOrder& order);
  void handle(EngineWord& said);
  void handle(OrderUnheard& unheard);
  void handle(ResumeTold& told);
  void start(const std::shared_ptr<const EngineEndpoint>& engine, AttemptKind kind, Turn turn);
  void begin_move(const FleetOrder& order);
  void begin_what_waits();
  // The order that waits for the answer's begin will not be carried out.
  void give_up_order(MoveEnd end, const std::string& why);
  void follow(Next next);  // what a death or a give-up of an attempt leads to
  void end_move(bool done);
  void blame_move(const std::string& engine, MoveEnd end, const std::string& why);
  void blame_source(MoveEnd end, const std::string& why);
  void blame_death(MoveEnd end, const std::string& why);  // of an attempt; `why` names the engine
  // Another place is wanted; `engine` is to blame. It is not a name that the move holds, which
  // ends.
  void begin_elsewhere(const std::string& engine, FaultKind kind, const Error& why);

  // conversation_kv.cpp
  void tell(migration::RouterEvent event, migration::Position position = 0);
  void carry_out();
  void carry_out(const migration::RouterOrder& order);
  void order_source();
  void order_unheard();
  void resume(Turn source, Turn move);
  void resume_again(Clock::time_point at);
  void send(Turn to, EngineCall call, std::function<Mail(const Error&)> failed = {});
  [[nodiscard]] OrderSender& sender_to(const std::shared_ptr<const EngineEndpoint>& engine);
  void follow_kv(Next next);
  void sweep(const Move& move, bool done);  // ends its parcel, should it wait for nobody
  void look_at_kv_move();
  void drop_attempts(const std::string& engine);  // "": of every engine
  void say(Piece& piece);
  void cut_all_but(Turn first, Turn second);
  void look_at_clocks();
  void finish();
  void fail(Error error);
  // Whether it can go on elsewhere, where this attempt ended for this reason. If not it fails.
  [[nodiscard]] bool goes_on(const std::string& why);

  Fleet& fleet_;
  Counters& counters_;
  const ConversationOptions options_;
  const Asked asked_;
  const std::string body_;
  const std::string name_;
  const std::shared_ptr<Mailbox> mail_;
  packing::RequestId id_{};
  bool here_ = false;  // in the fleet
  Relay relay_;
  StopScanner stops_;
  std::vector<TokenId> prompt_{};
  std::vector<TokenId> answer_{};
  bool exact_ = true;  // every token that passed came with its id
  std::map<Turn, std::unique_ptr<Attempt>> attempts_{};
  std::vector<std::unique_ptr<Attempt>> cut_{};  // their threads may still be ending
  // By the engine that each one tells.
  std::map<const EngineEndpoint*, std::unique_ptr<OrderSender>> senders_{};
  struct Move {
    FleetOrder order{};
    Clock::time_point until{};
    migration::Kind kind = migration::Kind::tokens;
    MoveEnd end = MoveEnd::too_late;       // where it is not done
    std::string why = "it took too long";  // where it fails
    std::uint64_t answered = 0;            // tokens that the destination was told
    bool warmed_twice = false;
    // By KV:
    std::shared_ptr<const EngineEndpoint> source_engine{};
    Turn source = kNoTurn, destination = kNoTurn;  // their attempts
    std::uint64_t room_tokens = 0;                 // that it keeps room for
    bool ordered = false;                          // the source may know of the move
    std::shared_ptr<std::atomic<bool>> heard = std::make_shared<std::atomic<bool>>(false);
    bool unknown = false;  // the source has answered that it has no such attempt
    bool hurried = false;
    bool orphaned = false;
  };
  std::optional<Move> move_{};
  // An order to move by KV that came before the speaker's attempt had said a token. It is carried
  // out with the first one, or given up then.
  struct Waits {
    FleetOrder order{};
    Clock::time_point until{};
  };
  std::optional<Waits> waits_{};
  Turn spoke_ = kNoTurn;    // the attempt that passed a token last
  Turn last_kv_ = kNoTurn;  // the destination of the last move by KV
  struct Resume {
    std::uint64_t number = 0;
    Turn source = kNoTurn, move = kNoTurn;
    bool under_way = true;         // else it is sent `at` then
    std::optional<Turn> behind{};  // the move of one that is wanted once this has been heard
    Clock::time_point at{};
  };
  std::optional<Resume> resume_{};  // that the engine may not have heard
  std::uint64_t resumes_ = 0;
  bool pauses_ = false;  // a move by KV is done, and its first token has not passed
  std::uint64_t said_tokens_ = 0;
  unsigned tries_ = 0;
  Clock::time_point said_{};         // when something passed last
  Clock::time_point place_until_{};  // while nobody speaks
  std::vector<Words> words_{};
  std::optional<Error> error_{};
};

}  // namespace aqua::router
