// SPDX-License-Identifier: Apache-2.0
// PoolWatch waits for the engine's carrier, a pool or segments, in its place, and tells its inbox.
// It also ends, by name, parcels that were withdrawn and that nobody took: where their taker died,
// that is only possible once its end is proven. Once the keeper is away it tries to attach anew,
// and hands the carrier over to the inbox; if that keeper dies as well it says so, and has ended.
//
// Threads: one of its own; every method any.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "aqua/handoff/pools.hpp"
#include "serve/cache.hpp"
#include "serve/inbox.hpp"

namespace aqua::fleet {

class PoolWatch {
 public:
  // All outlive it.
  PoolWatch(Cache& cache, const CacheOptions& options, Inbox& inbox)
      : cache_(cache), carrier_(cache.carrier()), options_(options), inbox_(inbox), thread_([this] {
          run();
        }) {}
  ~PoolWatch() {
    {
      const std::lock_guard lock(mu_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  PoolWatch(const PoolWatch&) = delete;
  PoolWatch& operator=(const PoolWatch&) = delete;

  // Ends the parcel of this id and turn that waits, now or once it does.
  void sweep(ParcelHead parcel) {
    const std::lock_guard lock(mu_);
    swept_.insert(std::move(parcel));
  }
  // It has ended, or its taker has confirmed it.
  void settled(const ParcelHead& parcel) {
    const std::lock_guard lock(mu_);
    swept_.erase(parcel);
  }
  // Why the carrier could not be attached again when that was tried last; "": it was not. A change
  // is news of the pool.
  [[nodiscard]] std::string why_away() {
    const std::lock_guard lock(mu_);
    return why_away_;
  }

 private:
  static constexpr std::chrono::milliseconds kPatience{100}, kMostPatience{6400};
  // Between two looks at whether the engine has taken the pool: it waits for this thread then.
  static constexpr std::chrono::milliseconds kGlance{10};
  struct ById {
    bool operator()(const ParcelHead& a, const ParcelHead& b) const {
      return std::tie(a.id, a.turn) < std::tie(b.id, b.turn);
    }
  };

  void run() {
    while (!over_ && carrier_.is_connected()) {
      if (carrier_.wait(kPatience)) inbox_.post(PoolNews{});
      std::set<ParcelHead, ById> due;
      {
        const std::lock_guard lock(mu_);
        due = swept_;
      }
      for (const ParcelHead& parcel : due) {
        if (cancel_parcel(options_.pool, parcel.id, options_.keeper, parcel.turn).ok())
          settled(parcel);
      }
    }
    inbox_.post(PoolNews{});
    join_again();
  }

  // The former mapping stays until the engine has let go of it, so that for a moment there has to
  // be memory for both pools. What another try at once would not change is tried ever more seldom.
  void join_again() {
    auto patience = kPatience;
    while (!over_) {
      auto carrier = cache_.attach();
      tell(carrier.ok() ? "" : carrier.error().message);
      if (carrier.ok()) return hand_over(*carrier);
      const bool none_listens = carrier.error().code == Code::unavailable;
      patience = none_listens ? kPatience : std::min(2 * patience, kMostPatience);
      std::unique_lock lock(mu_);
      changed_.wait_for(lock, patience, [this] { return over_.load(); });
    }
  }

  // The engine may not take it at once: a request may move, or blocks of a pool for its requests
  // may not be there yet. It looks again whenever there is news, of blocks or of the keeper's
  // death.
  void hand_over(const std::shared_ptr<Carrier>& carrier) {
    inbox_.post(PoolBack{carrier});
    while (!over_ && carrier->is_connected()) {
      if (carrier->wait(kGlance)) inbox_.post(PoolNews{});
    }
    if (!over_) inbox_.post(PoolNews{});
  }

  void tell(const std::string& why) {
    {
      const std::lock_guard lock(mu_);
      if (why == std::exchange(why_away_, why)) return;
    }
    if (!why.empty())
      std::fprintf(stderr, "engine %s: cannot join its pool: %s\n", options_.role.c_str(),
                   why.c_str());
    inbox_.post(PoolNews{});
  }

  Cache& cache_;
  Carrier& carrier_;
  const CacheOptions& options_;
  Inbox& inbox_;
  std::atomic<bool> over_{false};
  std::mutex mu_;
  std::condition_variable changed_;
  std::set<ParcelHead, ById> swept_{};
  std::string why_away_{};
  std::thread thread_;
};

}  // namespace aqua::fleet
