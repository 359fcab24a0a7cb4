// SPDX-License-Identifier: Apache-2.0
// What reaches a conversation, and what passes to its client. Moves and deaths of attempts are in
// conversation_moves.cpp.
#include "tools/router/flow/conversation.hpp"

#include <algorithm>
#include <future>
#include <stop_token>
#include <utility>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "tools/http/start_thread.hpp"

namespace aqua::router {
namespace {

constexpr std::chrono::milliseconds kGlance{
    100};                                  // between two looks at whether the client is there
constexpr std::size_t kBytesOfAToken = 4;  // about, of a prompt that nobody has cut
constexpr unsigned kEnginesToAsk = 3;      // for ids: the first may just have died

}  // namespace

Conversation::Conversation(Fleet& fleet, Counters& counters, const ConversationOptions& options,
                           Asked asked, std::string body, std::string name)
    : fleet_(fleet),
      counters_(counters),
      options_(options),
      asked_(std::move(asked)),
      body_(std::move(body)),
      name_(std::move(name)),
      mail_(std::make_shared<Mailbox>(options.most_behind)),
      stops_(asked_.stop) {}

Conversation::~Conversation() {
  if (here_) ++counters_.gone;  // destroyed before its answer ended
  finish();
  mail_->close();
}

Result<void> Conversation::begin(const Alive& alive) {
  auto begun = arrive(alive);
  if (!begun.ok() && begun.error().code != Code::cancelled) ++counters_.failed;
  return begun;
}

Result<void> Conversation::arrive(const Alive& alive) {
  std::uint64_t tokens = body_.size() / kBytesOfAToken + 1;
  if (asked_.stays.empty()) {
    prompt_ = asked_.ids;
    for (unsigned i = 0; prompt_.empty(); ++i) {
      AQUA_ASSIGN(const auto engine, fleet_.any());
      auto ids = find_ids(*engine, alive);
      if (!alive()) return gone();
      if (ids.ok()) {
        prompt_ = std::move(ids).value();
      } else if (ids.error().code == Code::invalid_argument || i + 1 == kEnginesToAsk) {
        return std::move(ids).error();
      }
    }
    tokens = prompt_.size();
  }
  mail_->held_tokens = tokens;
  place_until_ = Clock::now() + options_.place;
  AQUA_ASSIGN(id_, fleet_.arrive({.name = name_,
                                  .stays = asked_.stays,
                                  .tokens = tokens,
                                  .max_new = asked_.max_tokens,
                                  .mail = mail_}));
  here_ = true;
  return {};
}

// Another thread asks, so that this one sees its client go.
Result<std::vector<TokenId>> Conversation::find_ids(const EngineEndpoint& engine,
                                                    const Alive& alive) {
  std::stop_source stop;
  std::packaged_task<Result<std::vector<TokenId>>()> task(
      [&] { return ask_ids(engine, asked_, stop.get_token()); });
  auto ids = task.get_future();
  AQUA_ASSIGN(std::thread asking, http::start_thread(std::move(task)));
  while (ids.wait_for(kGlance) != std::future_status::ready) {
    if (!alive()) stop.request_stop();
  }
  asking.join();
  return ids.get();
}

Error Conversation::gone() {
  ++counters_.gone;
  finish();
  return {Code::cancelled, "the client has gone"};
}

Result<std::vector<Conversation::Words>> Conversation::next(const Alive& alive) {
  while (words_.empty() && !error_ && !over()) {
    if (!alive()) return gone();
    auto mails = mail_->take(Clock::now() + kGlance);
    for (Mail& mail : mails) {
      if (error_ || over()) break;
      std::visit([this](auto& one) { handle(one); }, mail);
    }
    look_at_clocks();
  }
  if (words_.empty() && error_) return *error_;
  return std::exchange(words_, {});
}

void Conversation::handle(Piece& piece) {
  const Turn before = relay_.speaker();
  const Next next = relay_.heard(piece);
  switch (next) {
    case Next::pass:
      return say(piece);
    case Next::take_over:
      counters_.paused(migration::Kind::tokens, Clock::now() - said_);
      cut_all_but(relay_.speaker(), kNoTurn);
      end_move(true);
      step("take_over");
      return say(piece);
    case Next::broken: {
      AttemptDied died{.turn = piece.turn,
                       .error = {Code::data_loss, "its tokens are out of order"}};
      return handle(died);
    }
    case Next::nothing:
      if (piece.turn != before) counters_.late_tokens += piece.count;
      return;
    default:
      return follow(next);
  }
}

void Conversation::handle(RawPart& part) {
  Piece piece{.turn = part.turn, .position = relay_.passed(), .count = 1};
  if (part.ends) piece.finish = "passed on";
  if (relay_.heard(piece) != Next::pass) return;
  ++counters_.tokens;
  ++mail_->held_tokens;
  words_.push_back({.finish = piece.finish, .raw = std::move(part.data)});
  if (part.ends) {
    ++counters_.answered;
    finish();
  }
}

void Conversation::say(Piece& piece) {
  tries_ = 0;
  if (piece.count > 0) spoke_ = piece.turn;
  if (std::exchange(pauses_, false)) counters_.paused(migration::Kind::kv, Clock::now() - said_);
  said_ = Clock::now();
  counters_.tokens += piece.count;
  if (!piece.whole() && std::exchange(exact_, false)) fleet_.stays(id_, kNotAllTold);
  said_tokens_ += piece.count;
  answer_.insert(answer_.end(), piece.ids.begin(), piece.ids.end());
  mail_->held_tokens = prompt_.size() + said_tokens_;
  Words words{.text = stops_.feed(piece.text),
              .ids = std::move(piece.ids),
              .finish = std::move(piece.finish)};
  if (stops_.stopped()) {
    words.finish = "stop";
  } else if (words.finish.empty() && asked_.max_tokens > 0 && said_tokens_ >= asked_.max_tokens) {
    words.finish = "length";  // an engine that goes on is cut here
  }
  if (!words.finish.empty()) words.text += stops_.finish();
  if (words.finish.empty()) begin_what_waits();
  const bool ends = !words.finish.empty();
  if (ends || !words.text.empty() || (asked_.tell_ids && !words.ids.empty()))
    words_.push_back(std::move(words));
  if (!ends) return;
  ++counters_.answered;
  finish();
}

void Conversation::cut_all_but(Turn first, Turn second) {
  constexpr std::size_t kMostEnding = 8;
  if (cut_.size() > kMostEnding) cut_.clear();  // waits for threads that have ended, or soon will
  for (auto at = attempts_.begin(); at != attempts_.end();) {
    const auto one = at++;
    if (one->first == first || one->first == second) continue;
    one->second->cut();
    cut_.push_back(std::move(one->second));
    attempts_.erase(one);
  }
}

void Conversation::finish() {
  relay_.end();
  // Its engines end what they have of the move as their streams are cut, if they are alive.
  if (here_ && move_) {
    move_->end = MoveEnd::ended;
    end_move(false);
  }
  if (here_) give_up_order(MoveEnd::ended, "");
  cut_all_but(kNoTurn, kNoTurn);
  if (std::exchange(here_, false)) fleet_.leave(id_);
}

void Conversation::fail(Error error) {
  if (error_ || over()) return;
  error_ = std::move(error);
  ++counters_.failed;
  finish();
}

}  // namespace aqua::router
