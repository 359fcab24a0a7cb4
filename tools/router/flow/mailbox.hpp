// SPDX-License-Identifier: Apache-2.0
// Mailbox is where everything reaches a request: pieces of its attempts, their ends, and what the
// fleet orders. The request's own thread takes it all, in the order in which it came.
//
// Threads: every method may be called concurrently; take() by one.
// Bounds: what engines say and nobody has taken is counted; past `most` tokens or 16 MiB no more is
//         taken in, and the request has ended (a reader that is too slow). Ends and orders always
//         are.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "aqua/packing/fleet.hpp"
#include "aqua/result.hpp"
#include "base/mutex.hpp"
#include "tools/router/decide/piece.hpp"
#include "tools/router/fleet/engine.hpp"
#include "tools/router/speech/kv_moves.hpp"

namespace aqua::router {

// A part of an answer that is passed on as it comes: the data of one event, or the whole body.
struct RawPart {
  Turn turn = kNoTurn;
  std::string data{};
  bool ends = false;
};
// The attempt is over before its last piece; `status` 0: without an answer.
struct AttemptDied {
  Turn turn = kNoTurn;
  int status = 0;
  Error error{};
  bool slow_reader = false;  // nobody took what it said
};
struct WarmedUp {
  Turn turn = kNoTurn;
};
enum class OrderKind : std::uint8_t {
  place,  // begin on `engine`
  move,   // move to `engine`, then tell the fleet of this order
  drop,   // cut the attempt: its place is needed, or its engine down; another order follows
  gone,   // `engine` is gone, with what it was doing
};
inline constexpr std::string_view kOperator = "operator";

struct FleetOrder {
  OrderKind kind = OrderKind::place;
  packing::RequestId request{};  // as the fleet numbers it; an older number's orders are void
  std::shared_ptr<const EngineEndpoint> engine{};
  std::uint64_t plan = 0;    // of the packer; 0: an operator's move
  std::uint64_t move = 0;    // numbers the fleet's orders to move
  bool by_tokens = false;    // though the engines could hand KV over
  std::string_view cause{};  // of a move: kOperator, or the name of the packer's reason
  std::chrono::steady_clock::time_point ordered = std::chrono::steady_clock::now();
};
// What an engine says of a move by KV.
struct EngineWord {
  Turn turn = kNoTurn;  // of the attempt
  MoveWord word{};
};
// An engine did not answer to the order of this move: whether it has it is not known.
struct OrderUnheard {
  Turn move = kNoTurn;
  Error error{};
};
// The word to speak on, which was sent as number `number`, has been answered to, or not in time.
struct ResumeTold {
  std::uint64_t number = 0;
  bool heard = false;
};
using Mail = std::variant<Piece, RawPart, AttemptDied, WarmedUp, FleetOrder, EngineWord,
                          OrderUnheard, ResumeTold>;

// What a mail counts for while nobody has taken it: a token at least.
struct MailSize {
  std::uint64_t tokens = 1, bytes = 0;
};
[[nodiscard]] inline MailSize size_of(const Mail& mail) {
  if (const auto* piece = std::get_if<Piece>(&mail)) {
    return {std::max<std::uint64_t>(1, piece->count),
            piece->text.size() + piece->ids.size() * sizeof(TokenId)};
  }
  if (const auto* part = std::get_if<RawPart>(&mail)) return {1, part->data.size()};
  if (const auto* said = std::get_if<EngineWord>(&mail)) return {1, said->word.why.size()};
  return {};
}

class Mailbox {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;  // a whole answer's

  explicit Mailbox(std::uint64_t most) : most_(most) {}

  // Posts mails of an engine. False when there is no room, or nobody takes anything any more.
  [[nodiscard]] bool post(std::vector<Mail> mails) {
    MailSize all{.tokens = 0};
    for (const Mail& mail : mails) {
      const MailSize one = size_of(mail);
      all.tokens += one.tokens;
      all.bytes += one.bytes;
    }
    const MutexLock lock(mu_);
    if (closed_ || all.tokens > most_ - tokens_ || all.bytes > kMostBytes - bytes_) return false;
    tokens_ += all.tokens;
    bytes_ += all.bytes;
    for (Mail& mail : mails) mails_.push_back(std::move(mail));
    changed_.notify_one();
    return true;
  }
  void post(Mail mail) {
    const MutexLock lock(mu_);
    if (closed_) return;
    mails_.push_back(std::move(mail));
    changed_.notify_one();
  }
  // All that is there; waits for some until then. Empty: nothing came.
  [[nodiscard]] std::vector<Mail> take(Time until) {
    const MutexLock lock(mu_);
    while (mails_.empty() && changed_.wait_until(mu_, until)) continue;
    tokens_ = bytes_ = 0;
    return std::exchange(mails_, {});
  }
  void close() {
    const MutexLock lock(mu_);
    closed_ = true;
    mails_.clear();
  }

  // Tokens of KV that the request holds, prompt and answer: for the fleet to read.
  std::atomic<std::uint64_t> held_tokens{0};

 private:
  const std::uint64_t most_;
  Mutex mu_;
  CondVar changed_;
  std::vector<Mail> mails_ AQUA_GUARDED_BY(mu_);
  std::uint64_t tokens_ AQUA_GUARDED_BY(mu_) = 0, bytes_ AQUA_GUARDED_BY(mu_) = 0;  // in mails_
  bool closed_ AQUA_GUARDED_BY(mu_) = false;
};

}  // namespace aqua::router
