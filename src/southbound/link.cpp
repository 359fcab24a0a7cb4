// SPDX-License-Identifier: Apache-2.0
#include "southbound/link.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "wire/problem.hpp"

namespace aqua::southbound {
namespace {

constexpr int kOk = 200;
constexpr int kUnauthenticated = 401;
constexpr int kInternal = 500;

}  // namespace

Result<std::unique_ptr<Link>> Link::open(Options options) {
  if (options.info.id.is_nil()) return Error{Code::invalid_argument, "open: the client id is nil"};
  AQUA_ASSIGN(wire::Address address, wire::parse_address(options.coordinator));
  AQUA_ASSIGN(Interrupt calls, Interrupt::open());
  AQUA_ASSIGN(Interrupt watch, Interrupt::open());
  AQUA_ASSIGN(Interrupt keeper, Interrupt::open());
  AQUA_ASSIGN(Interrupt hurry, Interrupt::open());
  return std::unique_ptr<Link>(new Link(std::move(options), std::move(address), std::move(calls),
                                        std::move(watch), std::move(keeper), std::move(hurry)));
}

Link::Link(Options opts, wire::Address to, Interrupt calls, Interrupt watch, Interrupt keeper,
           Interrupt hurry)
    : options(std::move(opts)),
      address(std::move(to)),
      calls_end(std::move(calls)),
      watch_ends(std::move(watch)),
      keeper_wakes(std::move(keeper)),
      hurries(std::move(hurry)) {}

ledger::Time Link::steady_now() {
  return std::chrono::duration_cast<ledger::Time>(Clock::now().time_since_epoch());
}

Result<std::string> Link::call_text(const char* method, std::string target, std::string body,
                                    std::string key, std::optional<std::uint64_t> number) {
  AQUA_ASSIGN(const Active active, session_for(concat(method, " ", target)));
  {
    MutexLock lock(mu_);
    ++status_.calls;
  }
  if (number && active.session.number != *number)
    return Error{Code::unavailable, concat(method, " ", target, ": session ", *number, " is over")};
  const HttpRequest request{method, std::move(target), active.secret, std::move(body),
                            std::move(key)};
  const auto patience = answers() ? options.call_timeout : std::chrono::milliseconds{0};
  const Deadline deadline{Clock::now() + patience, &hurries};
  CallOutcome outcome = http_call(address, request, deadline, &calls_end);
  bool may_have_happened = !outcome.reply && outcome.sent;
  const bool lost = may_have_happened && outcome.error.code == Code::unavailable;
  if (lost && !request.idempotency_key.empty() && is_current(active.session.number)) {
    outcome = http_call(address, request, deadline, &calls_end);
    // A refusal says nothing of the first time.
    may_have_happened = !outcome.reply || outcome.reply->status != kOk;
  }
  // So the coordinator answers a key whose request may have been done without a reply.
  const bool without_reply =
      !request.idempotency_key.empty() && outcome.reply && outcome.reply->status == kInternal;
  if (may_have_happened || without_reply) {
    MutexLock lock(mu_);
    snapshot_wish_ = true;
    watch_ends.raise();
  }
  if (!outcome.reply && outcome.error.code == Code::deadline_exceeded && hurries.raised()) {
    MutexLock lock(mu_);
    unanswered_ = true;
  }
  return read(std::move(outcome), active.session.number);
}

Result<Active> Link::session_for(std::string_view what) const {
  if (forked()) {
    return Error{Code::failed_precondition,
                 concat(what, ": this process was forked from the one that has the session")};
  }
  MutexLock lock(mu_);
  if (closing_) return Error{Code::cancelled, concat(what, ": the client is closed")};
  if (active_) return *active_;
  return Error{Code::unavailable,
               concat(what, ": not connected to ", to_string(address),
                      status_.last_error.empty() ? "" : "; ", status_.last_error)};
}

Result<std::string> Link::wait_text(std::string target, std::chrono::milliseconds timeout,
                                    const Interrupt* ends) {
  AQUA_ASSIGN(const Active active, session_for(concat("GET ", target)));
  const HttpRequest request{"GET", std::move(target), active.secret, {}};
  const auto deadline = Clock::now() + timeout + options.call_timeout;
  return read(http_call(address, request, deadline, ends != nullptr ? ends : &calls_end),
              active.session.number);
}

Result<std::string> Link::read(CallOutcome outcome, std::uint64_t in_session) {
  if (!outcome.reply) {
    // To callers a deadline of ours is one more way for the coordinator to be away.
    if (outcome.error.code == Code::deadline_exceeded) outcome.error.code = Code::unavailable;
    return std::move(outcome.error);
  }
  if (outcome.reply->status == kOk) return std::move(outcome.reply->body);
  auto refusal = wire::decode<wire::Problem>(outcome.reply->body);
  if (!refusal.ok()) {
    return Error{Code::internal,
                 concat("status ", outcome.reply->status, " without a readable error")};
  }
  if (outcome.reply->status == kUnauthenticated) {
    refusal->error.code = Code::unavailable;
    give_up(in_session, refusal->error);
  }
  return std::move(refusal->error);
}

void Link::begin(const Active& active) {
  MutexLock lock(mu_);
  active_ = active;
  given_up_.reset();
  snapshot_wish_ = false;  // a new session starts with one
  ++status_.sessions;
  status_.epoch = active.session.epoch;
  status_.last_error.clear();
  changed_.notify_all();
}

void Link::end(const Error& reason) {
  MutexLock lock(mu_);
  active_.reset();
  given_up_.reset();
  status_.last_error = reason.message;
  watch_ends.raise();
  changed_.notify_all();
}

void Link::failed(const Error& reason) {
  MutexLock lock(mu_);
  status_.last_error = reason.message;
  if (status_.sessions > 0 || first_failure_) return;
  first_failure_ = reason;
  changed_.notify_all();
}

void Link::give_up(std::uint64_t number, const Error& reason) {
  MutexLock lock(mu_);
  if (!active_ || active_->session.number != number || given_up_) return;
  given_up_ = reason;
  keeper_wakes.raise();
}

std::optional<Error> Link::given_up() const {
  MutexLock lock(mu_);
  return given_up_;
}

bool Link::is_current(std::uint64_t number) const {
  MutexLock lock(mu_);
  return active_ && !given_up_ && active_->session.number == number && !closing_;
}

std::optional<Link::News> Link::wait_news(std::uint64_t number) {
  MutexLock lock(mu_);
  while (!closing_) {
    if (first_failure_ && !std::exchange(first_failure_told_, true)) return *first_failure_;
    if (active_ && active_->session.number > number) return *active_;
    changed_.wait(mu_);
  }
  return std::nullopt;
}

bool Link::pause(std::chrono::milliseconds duration) {
  const auto until = Clock::now() + duration;
  MutexLock lock(mu_);
  while (!closing_ && Clock::now() < until) changed_.wait_until(mu_, until);
  return !closing_;
}

Error Link::last_reason() const {
  MutexLock lock(mu_);
  return Error{Code::unavailable, given_up_ ? given_up_->message : status_.last_error};
}

void Link::announced(std::uint64_t number) {
  MutexLock lock(mu_);
  announced_ = number;
}

bool Link::take_snapshot_wish() {
  MutexLock lock(mu_);
  watch_ends.clear();
  return std::exchange(snapshot_wish_, false);
}

bool Link::answers() const {
  MutexLock lock(mu_);
  return !unanswered_;
}

void Link::close() {
  MutexLock lock(mu_);
  closing_ = true;
  calls_end.raise();
  watch_ends.raise();
  keeper_wakes.raise();
  changed_.notify_all();
}

bool Link::closing() const {
  MutexLock lock(mu_);
  return closing_;
}

Status Link::status() const {
  MutexLock lock(mu_);
  Status status = status_;
  status.connected = active_ && !given_up_ && !closing_ && announced_ == active_->session.number;
  return status;
}

}  // namespace aqua::southbound
