// SPDX-License-Identifier: Apache-2.0
// LedgerService is the ledger with a lock, a clock, an alarm and a store: it serialises the
// callers, runs what time alone decides, writes down what has changed before anybody hears of
// it, wakes the watches that have something to read, and tells the journal.
//
// Threads: every method may be called concurrently; one thread of its own keeps time.
// Locks:   one, never held across a socket or while watches are woken, and across a disk's
//          write-through only where the store's log is begun anew (docs/internals/store.md).
//          Callers that wait for it are served together, with one commit (Turns).
// Memory that runs out amid a change ends the process: the next start begins with what is written
// (memory_reserve.hpp keeps it from coming to that).
// A store that cannot be written (a full disk): facts go on, kept in memory until they can be
// written; promises (leases, pairs) are refused with unavailable.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "base/mutex.hpp"
#include "coordinator/common/thread_pool.hpp"
#include "coordinator/observe/journal.hpp"
#include "coordinator/service/operation.hpp"
#include "coordinator/service/recorder.hpp"
#include "coordinator/service/turns.hpp"
#include "coordinator/service/watch_hub.hpp"
#include "ledger/ledger.hpp"
#include "wire/events.hpp"

namespace aqua::coordinator {

// What a promise must survive before it is given.
enum class Survives : std::uint8_t { process, host };

class LedgerService {
 public:
  struct Options {
    ledger::Limits limits;
    std::size_t max_watches = 512;  // that wait at one time
    Journal* journal = nullptr;     // outlives the service; told of every change
    // The store can never be used again; called once or more, from any thread.
    std::function<void(const Error&)> on_fatal = [](const Error&) {};
  };
  // `ledger` is what the store holds (restore()), with options.limits.
  LedgerService(std::shared_ptr<Store> store, ledger::Ledger ledger, Options options);
  // In memory, from nothing.
  LedgerService(ledger::Limits limits, std::size_t max_watches, Journal* journal = nullptr);
  ~LedgerService();  // stop()
  LedgerService(const LedgerService&) = delete;
  LedgerService& operator=(const LedgerService&) = delete;

  // Ends every watch with unavailable, now and later, and promises nothing more.
  void stop();

  // Why the store cannot be written now.
  [[nodiscard]] std::optional<Error> store_fault() const;

  [[nodiscard]] const Epoch& epoch() const noexcept { return epoch_; }
  [[nodiscard]] const ledger::Limits& limits() const noexcept { return limits_; }
  [[nodiscard]] static ledger::Time now();

  // work(ledger, now) alone with the ledger, which is as of `now`. For reading, and for facts.
  template <typename Work>
  auto with(Work&& work) {
    Fact fact(work);
    carry_out(fact);
    return *std::move(fact.value);
  }

  // The same for a promise, work() returning a Result: it is written before this returns, or
  // undo(ledger, now, value) has taken it back and this is unavailable.
  template <typename Work, typename Undo>
  auto promise(Survives survives, Work&& work, Undo&& undo) {
    Promise given(work, undo);
    carry_out(given);
    if (given.value->ok() && survives == Survives::host) {
      const ThreadPool::Blocking blocking;
      if (auto synced = recorder_.sync(given.revision); !synced.ok()) {
        on_fatal_(synced.error());
        given.refuse(unwritten(synced.error()));
      }
    }
    return *std::move(given.value);
  }

  // The client's events after `after`, waiting for one at most `timeout`; empty when none
  // came. A snapshot when `after` is nullopt or forgotten. A client has one watch: a newer
  // one ends the older, which returns empty. unavailable beyond max_watches.
  // permission_denied once `in_session` is false, which is asked while nothing can happen: a
  // session that ended before its watch was there would have nobody to end it.
  [[nodiscard]] Result<wire::WatchReply> watch(const ClientId& client,
                                               std::optional<std::uint64_t> after,
                                               std::chrono::milliseconds timeout,
                                               const std::function<bool()>& in_session);
  [[nodiscard]] std::size_t watches() const;
  // The client's session is over, and in_session says so: its watch returns permission_denied.
  void end_watch(const ClientId& client);

 private:
  // What a change leaves to be done without the lock.
  struct Aftermath {
    ledger::Changes changes;  // to log
    std::vector<std::pair<WatchHub::Entry, wire::WatchReply>> answers;
  };

  // Alone with the ledger, together with those of other callers; then answers the watches that have
  // something to read, and logs what changed.
  void carry_out(Operation& operation) AQUA_EXCLUDES(mu_);
  void carry_out_all(std::span<Operation* const> operations, Aftermath& after) noexcept;
  // Wakes hundreds, perhaps: whoever wants the ledger does not wait for that.
  void settle(Aftermath& after) AQUA_EXCLUDES(mu_);
  void promise_all(std::span<Operation* const> operations, ledger::Time now) AQUA_REQUIRES(mu_);
  [[nodiscard]] static Error unwritten(const Error& why);
  [[nodiscard]] Result<void> may_promise() AQUA_REQUIRES(mu_);
  Result<Revision> write_down() AQUA_REQUIRES(mu_);
  void after_change(Aftermath& after) AQUA_REQUIRES(mu_);
  void keep_time();
  // What a watch after `after` is answered now; a snapshot for nullopt.
  [[nodiscard]] wire::WatchReply watched(const ClientId& client,
                                         std::optional<std::uint64_t> after) const
      AQUA_REQUIRES(mu_);
  // Takes the watches that have something to read out of the hub.
  void find_answers(Aftermath& after) AQUA_REQUIRES(mu_);

  const Epoch epoch_ = random_id<EpochTag>();
  const ledger::Limits limits_;
  const std::size_t max_watches_;
  Journal* const journal_;
  const std::function<void(const Error&)> on_fatal_;

  Turns<Operation> turns_;
  mutable Mutex mu_;
  Recorder recorder_;  // record() and fault() under mu_
  ledger::Ledger ledger_ AQUA_GUARDED_BY(mu_);
  WatchHub watches_ AQUA_GUARDED_BY(mu_);
  std::uint64_t seen_event_ AQUA_GUARDED_BY(mu_) = 0;       // watches are answered up to here
  std::optional<ledger::Time> alarm_ AQUA_GUARDED_BY(mu_);  // what the timekeeper waits for
  CondVar alarm_changed_;
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  std::thread timekeeper_;
};

}  // namespace aqua::coordinator
