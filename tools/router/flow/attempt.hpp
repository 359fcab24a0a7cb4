// SPDX-License-Identifier: Apache-2.0
// Attempt has one engine answer, or begin to, and posts what it hears to the request's mailbox.
//
// Threads: one of its own, which reads the engine; cut() from any.
// Ends:    by its last piece, or by an AttemptDied; cut, it posts nothing more. Late pieces may be
//          in the mailbox, of a turn that nobody hears.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tools/http/http_client.hpp"
#include "tools/http/sse.hpp"
#include "tools/router/decide/piece.hpp"
#include "tools/router/fleet/engine.hpp"
#include "tools/router/flow/mailbox.hpp"
#include "tools/router/speech/dialect.hpp"

namespace aqua::router {

enum class AttemptKind : std::uint8_t {
  tokens,      // pieces
  receive,     // EngineWords, and pieces once it is granted its turn
  warm,        // one WarmedUp, by its first token
  raw_stream,  // RawParts, an event each
  raw_whole,   // one RawPart
};

struct AttemptOrder {
  AttemptKind kind = AttemptKind::tokens;
  Turn turn = kNoTurn;
  std::uint64_t from = 0;  // position of its first token; receive: grant() says it
  EngineCall call{};
  std::chrono::seconds silence{60};  // without a token, after which it has died; 0: however long
};

class Attempt {
 public:
  // Begins at once.
  Attempt(std::shared_ptr<const EngineEndpoint> engine, AttemptOrder order,
          std::shared_ptr<Mailbox> mail);
  ~Attempt();  // cut(), and waits for the thread
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // Closes the connection, by which engines learn that nobody wants the rest.
  void cut();
  // For kind receive: what it says from now on begins at `from`. Before it may say nothing.
  void grant(std::uint64_t from);
  [[nodiscard]] const std::string& engine() const noexcept { return engine_->name; }
  [[nodiscard]] const std::shared_ptr<const EngineEndpoint>& endpoint() const noexcept {
    return engine_;
  }

 private:
  void run();
  [[nodiscard]] http::Heard hear(std::string_view bytes);
  // Whether it ends the silence of an engine that may speak: a token, or an end.
  [[nodiscard]] static bool is_speech(const Mail& mail);
  void take(std::string_view data, std::vector<Mail>& mails);
  void take_raw(std::string_view data, std::vector<Mail>& mails);
  void die(int status, Error error);

  const std::shared_ptr<const EngineEndpoint> engine_;
  const AttemptOrder order_;
  const std::shared_ptr<Mailbox> mail_;
  http::HttpClient client_;
  std::atomic<bool> cut_{false};
  std::atomic<std::int64_t> granted_{-1};  // from this position
  // The thread's.
  http::SseReader reader_;
  std::optional<PieceMaker> pieces_{};
  std::uint64_t had_ = 0;
  std::string whole_{};
  std::string fault_{};
  bool done_ = false;
  bool overflowed_ = false;
  std::thread thread_;
};

}  // namespace aqua::router
