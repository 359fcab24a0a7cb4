// LedgerService is the ledger with a lock, a clock and an alarm: it serialises the callers,
// runs what time alone decides, and wakes the watches that have something to read.
//
// Threads: every method may be called concurrently; one thread of its own keeps time.
// Locks:   one, never held across a socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "base/mutex.hpp"
#include "coordinator/journal.hpp"
#include "ledger/ledger.hpp"
#include "wire/events.hpp"

namespace aqua::coordinator {

class LedgerService {
 public:
  // `max_watches` bounds the watches that wait at one time. `journal`, unless nullptr, is told
  // every change and outlives this.
  LedgerService(ledger::Limits limits, std::size_t max_watches, Journal* journal = nullptr);
  ~LedgerService();  // stop()
  LedgerService(const LedgerService&) = delete;
  LedgerService& operator=(const LedgerService&) = delete;

  // Ends every watch with unavailable, now and later.
  void stop();

  [[nodiscard]] const Epoch& epoch() const noexcept { return epoch_; }
  [[nodiscard]] const ledger::Limits& limits() const noexcept { return limits_; }
  [[nodiscard]] static ledger::Time now();

  // work(ledger, now) alone with the ledger, which is as of `now`.
  template <typename Work>
  auto with(Work&& work) {
    ledger::Changes changes;
    auto result = alone(std::forward<Work>(work), changes);
    Journal::log(changes);
    return result;
  }

  // The client's events after `after`, waiting for one at most `timeout`; empty when none
  // came. A snapshot when `after` is nullopt or forgotten. A client has one watch: a newer
  // one ends the older, which returns empty. unavailable beyond max_watches.
  [[nodiscard]] Result<wire::WatchReply> watch(const ClientId& client,
                                               std::optional<std::uint64_t> after,
                                               std::chrono::milliseconds timeout);
  [[nodiscard]] std::size_t watches() const;
  // The client's session is over: its watch returns permission_denied.
  void end_watch(const ClientId& client);

 private:
  struct Waiter {
    std::uint64_t after = 0;
    std::optional<Error> ended;
    bool superseded = false;
    CondVar wake;
  };

  template <typename Work>
  auto alone(Work&& work, ledger::Changes& changes) {
    MutexLock lock(mu_);
    const ledger::Time time = now();
    ledger_.advance(time);
    auto result = std::forward<Work>(work)(ledger_, time);
    after_change(changes);
    return result;
  }
  // Wakes who waits for what has changed. `changes` are left to be logged without the lock.
  void after_change(ledger::Changes& changes) AQUA_REQUIRES(mu_);
  void keep_time();
  void wait_for_event(const ClientId& client, Waiter& waiter, std::chrono::milliseconds timeout)
      AQUA_REQUIRES(mu_);

  const Epoch epoch_ = random_id<EpochTag>();
  const ledger::Limits limits_;
  const std::size_t max_watches_;
  Journal* const journal_;

  mutable Mutex mu_;
  ledger::Ledger ledger_ AQUA_GUARDED_BY(mu_);
  std::map<ClientId, Waiter*> waiters_ AQUA_GUARDED_BY(mu_);  // borrowed from the waiting stacks
  std::uint64_t seen_event_ AQUA_GUARDED_BY(mu_) = 0;         // waiters have been woken up to here
  std::optional<ledger::Time> alarm_ AQUA_GUARDED_BY(mu_);    // what the timekeeper waits for
  CondVar alarm_changed_;
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  std::thread timekeeper_;
};

}  // namespace aqua::coordinator
