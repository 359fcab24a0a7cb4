// SPDX-License-Identifier: Apache-2.0
// Link is what the client's threads and its callers share: the session of the moment, and
// the calls made in it.
//
//   Keeper  begins sessions and ends them
//   Watcher follows: connected, events, disconnected
//   anybody calls, and tells the link when a call shows that the session is over
//
// Threads: every method may be called concurrently.
// Locks:   one, never held across the network.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "aqua/result.hpp"
#include "base/fork_guard.hpp"
#include "base/ids.hpp"
#include "base/mutex.hpp"
#include "base/try.hpp"
#include "southbound/client.hpp"
#include "southbound/http_call.hpp"
#include "southbound/interrupt.hpp"
#include "wire/address.hpp"
#include "wire/codec.hpp"

namespace aqua::southbound {

struct Active {
  Session session;
  SessionSecret secret;
};

class Link {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Link>> open(Options options);

  const Options options;
  const wire::Address address;

  // --- calls ----------------------------------------------------------------------------
  // In the session of the moment: unavailable where there is none.
  template <typename Reply>
  [[nodiscard]] Result<Reply> call(const char* method, std::string target) {
    return send<Reply>(method, std::move(target), {}, {}, {});
  }
  // A long poll, which the coordinator may leave unanswered for `timeout`. A reply that is lost
  // changes nothing, and it is none of Status::calls.
  // cancelled when `ends` is raised; nullptr: by close().
  template <typename Reply>
  [[nodiscard]] Result<Reply> wait(std::string target, std::chrono::milliseconds timeout,
                                   const Interrupt* ends) {
    AQUA_ASSIGN(const std::string text, wait_text(std::move(target), timeout, ends));
    return decoded<Reply>(text);
  }
  // With `number`: in the session of this number, unavailable in any other.
  template <typename Reply, typename Request>
  [[nodiscard]] Result<Reply> post(const char* target, const Request& request,
                                   std::optional<std::uint64_t> number = {}) {
    return send<Reply>("POST", target, wire::encode(request), {}, number);
  }
  // As post(), with an idempotency key: where the reply is lost the request is sent once more,
  // and the coordinator, which does it once, answers as it did.
  template <typename Reply, typename Request>
  [[nodiscard]] Result<Reply> post_once(const char* target, const Request& request,
                                        std::string key) {
    return send<Reply>("POST", target, wire::encode(request), std::move(key), {});
  }
  // The body of a reply, or the error it tells. `in_session` is 0 outside any.
  [[nodiscard]] Result<std::string> read(CallOutcome outcome, std::uint64_t in_session);
  template <typename Reply>
  [[nodiscard]] static Result<Reply> decoded(const std::string& text) {
    auto reply = wire::decode<Reply>(text, steady_now());
    if (!reply.ok())
      return Error{Code::internal, "reply of the coordinator: " + reply.error().message};
    return reply;
  }
  [[nodiscard]] static ledger::Time steady_now();

  // --- the session ------------------------------------------------------------------------
  void begin(const Active& active);  // Keeper
  void end(const Error& reason);     // Keeper
  void failed(const Error& reason);  // Keeper: an attempt to begin one
  // Session `number` cannot go on; Keeper is woken to end it.
  void give_up(std::uint64_t number, const Error& reason);
  [[nodiscard]] std::optional<Error> given_up() const;  // reason, while Keeper has not ended it
  [[nodiscard]] bool is_current(std::uint64_t number) const;
  // Waits for a session newer than `number`, or the failure of the very first attempt (told
  // once); nullopt when closing.
  using News = std::variant<Active, Error>;
  [[nodiscard]] std::optional<News> wait_news(std::uint64_t number);
  // True unless closing began within `duration`.
  [[nodiscard]] bool pause(std::chrono::milliseconds duration);
  [[nodiscard]] Error last_reason() const;

  void announced(std::uint64_t number);  // Watcher: on_connected has returned
  // Watcher: whether a snapshot was wished for since the last time.
  [[nodiscard]] bool take_snapshot_wish();

  void hurry() { hurries.raise(); }  // Client::hurry()
  // False once a call has waited in vain after hurry().
  [[nodiscard]] bool answers() const;
  void close();  // calls fail with cancelled from now on
  [[nodiscard]] bool closing() const;
  [[nodiscard]] bool forked() const { return fork_generation() != generation_; }
  [[nodiscard]] Status status() const;

  const Interrupt calls_end;     // raised by close()
  const Interrupt watch_ends;    // raised when the watch must look around
  const Interrupt keeper_wakes;  // raised when the keeper must
  const Interrupt hurries;       // raised by hurry()

 private:
  Link(Options opts, wire::Address to, Interrupt calls, Interrupt watch, Interrupt keeper,
       Interrupt hurry);
  [[nodiscard]] Result<std::string> call_text(const char* method, std::string target,
                                              std::string body, std::string key,
                                              std::optional<std::uint64_t> number);
  [[nodiscard]] Result<std::string> wait_text(std::string target, std::chrono::milliseconds timeout,
                                              const Interrupt* ends);
  // The session to call in; `what` is for the message.
  [[nodiscard]] Result<Active> session_for(std::string_view what) const;
  template <typename Reply>
  [[nodiscard]] Result<Reply> send(const char* method, std::string target, std::string body,
                                   std::string key, std::optional<std::uint64_t> number) {
    AQUA_ASSIGN(const std::string text,
                call_text(method, std::move(target), std::move(body), std::move(key), number));
    return decoded<Reply>(text);
  }

  const std::uint64_t generation_ = fork_generation();
  mutable Mutex mu_;
  CondVar changed_;
  std::optional<Active> active_ AQUA_GUARDED_BY(mu_);
  std::optional<Error> given_up_ AQUA_GUARDED_BY(mu_);
  std::optional<Error> first_failure_ AQUA_GUARDED_BY(mu_);
  bool first_failure_told_ AQUA_GUARDED_BY(mu_) = false;
  std::uint64_t announced_ AQUA_GUARDED_BY(mu_) = 0;
  bool snapshot_wish_ AQUA_GUARDED_BY(mu_) = false;
  bool unanswered_ AQUA_GUARDED_BY(mu_) = false;  // a call after hurry()
  bool closing_ AQUA_GUARDED_BY(mu_) = false;
  Status status_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::southbound
