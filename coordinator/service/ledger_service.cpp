// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/ledger_service.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "coordinator/common/memory_reserve.hpp"
#include "coordinator/service/snapshot.hpp"
#include "coordinator/store/memory_store.hpp"

namespace aqua::coordinator {
namespace {

using SteadyClock = std::chrono::steady_clock;

SteadyClock::time_point at(ledger::Time time) {
  return SteadyClock::time_point(time);
}

Error stopping() {
  return Error{Code::unavailable, "the coordinator is stopping"};
}

Error session_over() {
  return Error{Code::permission_denied, "watch: the session is over"};
}

ledger::Ledger recorded(const ledger::Limits& limits) {
  ledger::Ledger ledger(limits);
  ledger.track_rows();
  return ledger;
}

std::unique_ptr<Store> memory_store() {
  auto store = std::make_unique<MemoryStore>(Host{});
  (void)store->load();  // of nothing: cannot fail
  return store;
}

}  // namespace

LedgerService::LedgerService(ledger::Limits limits, std::size_t max_watches, Journal* journal)
    : LedgerService(memory_store(), recorded(limits),
                    {.limits = limits, .max_watches = max_watches, .journal = journal}) {}

LedgerService::LedgerService(std::shared_ptr<Store> store, ledger::Ledger ledger, Options options)
    : limits_(options.limits),
      max_watches_(options.max_watches),
      journal_(options.journal),
      on_fatal_(std::move(options.on_fatal)),
      recorder_(std::move(store)),
      ledger_(std::move(ledger)) {
  if (journal_ != nullptr) {
    MutexLock lock(mu_);
    ledger_.keep_changes();
    journal_->begin(ledger_, now());
  }
  timekeeper_ = std::thread([this] { keep_time(); });
}

LedgerService::~LedgerService() {
  stop();
}

void LedgerService::stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    alarm_changed_.notify_all();
    for (const auto& [client, watch] : watches_.all()) watch->answer(stopping());
    watches_ = {};
  }
  if (timekeeper_.joinable()) timekeeper_.join();
}

std::optional<Error> LedgerService::store_fault() const {
  MutexLock lock(mu_);
  return recorder_.fault();
}

Error LedgerService::unwritten(const Error& why) {
  return Error{Code::unavailable, concat("the coordinator cannot write its ledger: ", why.message)};
}

Result<void> LedgerService::may_promise() {
  if (stopping_) return stopping();
  if (auto written = recorder_.catch_up(ledger_); !written.ok()) return unwritten(written.error());
  return {};
}

Result<Revision> LedgerService::write_down() {
  auto written = recorder_.record(ledger_);
  if (!written.ok() && Recorder::fatal(written.error())) on_fatal_(written.error());
  return written;
}

void LedgerService::carry_out(Operation& operation) {
  Aftermath after;
  turns_.take(operation, [&](std::span<Operation* const> all) { carry_out_all(all, after); });
  settle(after);
}

void LedgerService::settle(Aftermath& after) {
  for (auto& [watch, reply] : after.answers) watch->answer(std::move(reply));
  after.answers.clear();
  Journal::log(after.changes);
}

// Facts first: a promise that cannot be written is then taken back with nothing done since.
void LedgerService::carry_out_all(std::span<Operation* const> operations,
                                  Aftermath& after) noexcept {
  MutexLock lock(mu_);
  const MayUseReserve reserve;  // nothing can be taken back half-way
  const ledger::Time time = now();
  ledger_.advance(time);
  for (Operation* fact : operations) {
    if (!fact->promise) fact->run(ledger_, time);
  }
  const bool promises = std::ranges::any_of(operations, &Operation::promise);
  if (promises) promise_all(operations, time);
  const auto written = write_down();
  for (auto last = operations.rbegin(); last != operations.rend(); ++last) {
    Operation& each = **last;
    if (!each.promise) continue;
    if (written.ok()) {
      each.revision = *written;
    } else {
      each.take_back(ledger_, time, unwritten(written.error()));
    }
  }
  if (promises && !written.ok()) (void)write_down();  // what was taken back
  after_change(after);
}

void LedgerService::promise_all(std::span<Operation* const> operations, ledger::Time now) {
  const auto may = may_promise();
  for (Operation* each : operations) {
    if (!each->promise) continue;
    if (may.ok()) {
      each->run(ledger_, now);
    } else {
      each->refuse(may.error());
    }
  }
}

ledger::Time LedgerService::now() {
  return std::chrono::duration_cast<ledger::Time>(SteadyClock::now().time_since_epoch());
}

void LedgerService::after_change(Aftermath& after) {
  ledger_.take_changes(after.changes);
  if (journal_ != nullptr && !after.changes.empty()) journal_->note(after.changes, ledger_);
  if (ledger_.last_event() != seen_event_) find_answers(after);
  const auto next = ledger_.next_deadline();
  if (next && (!alarm_ || *next < *alarm_)) alarm_changed_.notify_all();
}

void LedgerService::keep_time() {
  Aftermath after;
  MutexLock lock(mu_);
  const MayUseReserve reserve;
  while (!stopping_) {
    ledger_.advance(now());
    (void)write_down();
    after_change(after);
    if (!after.changes.empty() || !after.answers.empty()) {
      mu_.unlock();
      settle(after);
      mu_.lock();
      if (stopping_) return;
    }
    alarm_ = ledger_.next_deadline();
    if (!alarm_) {
      alarm_changed_.wait(mu_);
    } else if (*alarm_ > now()) {
      alarm_changed_.wait_until(mu_, at(*alarm_));
    } else {
      // The deadline has come within this millisecond: let it pass, holding up nobody.
      alarm_changed_.wait_until(mu_, SteadyClock::now() + std::chrono::milliseconds(1));
    }
  }
}

void LedgerService::find_answers(Aftermath& after) {
  const auto told = ledger_.recipients_since(std::exchange(seen_event_, ledger_.last_event()));
  std::vector<ClientId> clients;
  if (told) {
    clients.assign(told->begin(), told->end());
  } else {  // so much has happened that nobody knows to whom
    for (const auto& [client, watch] : watches_.all()) clients.push_back(client);
  }
  for (const ClientId& client : clients) {
    auto watch = watches_.remove(client);
    if (watch == nullptr) continue;
    wire::WatchReply reply = watched(client, watch->after);
    after.answers.emplace_back(std::move(watch), std::move(reply));
  }
}

wire::WatchReply LedgerService::watched(const ClientId& client,
                                        std::optional<std::uint64_t> after) const {
  wire::WatchReply reply{
      .epoch = epoch_, .last_event = ledger_.last_event(), .events = {}, .snapshot = {}};
  if (auto events = after ? ledger_.events(client, *after) : std::nullopt) {
    reply.events = *std::move(events);
  } else {
    reply.snapshot = snapshot_of(ledger_, client, epoch_);
    reply.last_event = reply.snapshot->last_event;
  }
  return reply;
}

Result<wire::WatchReply> LedgerService::watch(const ClientId& client,
                                              std::optional<std::uint64_t> after,
                                              std::chrono::milliseconds timeout,
                                              const std::function<bool()>& in_session) {
  (void)with([](ledger::Ledger&, ledger::Time) { return true; });  // up to now
  WatchHub::Entry watch;
  {
    MutexLock lock(mu_);
    if (stopping_) return stopping();
    if (!in_session()) return session_over();
    if (!after) return watched(client, after);
    if (const auto older = watches_.remove(client)) older->answer(watched(client, older->after));
    const auto events = ledger_.events(client, *after);
    if (!events || !events->empty()) return watched(client, after);
    if (watches_.size() >= max_watches_)
      return Error{Code::unavailable, concat("watch: ", max_watches_, " watches wait already")};
    watch = watches_.add(client, *after);
  }
  {
    const ThreadPool::Blocking blocking;
    if (auto answer = watch->wait(timeout)) return *std::move(answer);
  }
  MutexLock lock(mu_);
  // In the last moment; or else it is there still, or its answer, which says the same, is coming.
  if (auto answer = watch->take()) return *std::move(answer);
  watches_.forget(client, watch);
  return watched(client, after);
}

std::size_t LedgerService::watches() const {
  MutexLock lock(mu_);
  return watches_.size();
}

void LedgerService::end_watch(const ClientId& client) {
  MutexLock lock(mu_);
  if (const auto watch = watches_.remove(client)) watch->answer(session_over());
}

}  // namespace aqua::coordinator
