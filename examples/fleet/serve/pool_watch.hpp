// SPDX-License-Identifier: Apache-2.0
// PoolWatch waits for the pool in the engine's place, and tells its inbox. It also ends, by name,
// parcels that were withdrawn and that nobody took: where their taker died, that is only possible
// once its end is proven. Once the keeper is away it tries to join the pool anew, and hands the
// pool over to the inbox; then it has ended.
//
// Threads: one of its own; every method any.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
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
  PoolWatch(Runtime& runtime, Cache& cache, const CacheOptions& options, Inbox& inbox)
      : runtime_(runtime),
        pool_(cache.pool()),
        join_(cache.pool_options()),
        options_(options),
        inbox_(inbox),
        thread_([this] { run(); }) {}
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

 private:
  static constexpr std::chrono::milliseconds kPatience{100};
  struct ById {
    bool operator()(const ParcelHead& a, const ParcelHead& b) const {
      return std::tie(a.id, a.turn) < std::tie(b.id, b.turn);
    }
  };

  void run() {
    while (!over_ && pool_.is_connected()) {
      if (pool_.wait(kPatience)) inbox_.post(PoolNews{});
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
    while (!over_) {
      // The former mapping stays until the engine has let go of it, so that for a moment this
      // process has both.
      auto pool = KvPool::attach(runtime_, join_);
      if (pool.ok())
        return inbox_.post(PoolBack{std::make_shared<KvPool>(std::move(pool).value())});
      std::unique_lock lock(mu_);
      changed_.wait_for(lock, kPatience, [this] { return over_.load(); });
    }
  }

  Runtime& runtime_;
  KvPool& pool_;
  const KvPoolOptions join_;
  const CacheOptions& options_;
  Inbox& inbox_;
  std::atomic<bool> over_{false};
  std::mutex mu_;
  std::condition_variable changed_;
  std::set<ParcelHead, ById> swept_{};
  std::thread thread_;
};

}  // namespace aqua::fleet
