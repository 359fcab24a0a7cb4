// SPDX-License-Identifier: Apache-2.0
// A Listener that writes down what it is told, for tests to wait on.
//
// Threads: every method may be called concurrently.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "southbound/client.hpp"

namespace aqua::testing {

class Recorder : public southbound::Listener {
 public:
  static constexpr std::chrono::milliseconds kPatience{60'000};

  // Called first in on_connected; set it before opening the client.
  std::function<void(const southbound::Session&)> connected_hook;
  // Called first in on_events.
  std::function<void()> events_hook;

  void on_connected(const southbound::Session& session) override {
    if (connected_hook) connected_hook(session);
    MutexLock lock(mu_);
    sessions_.push_back(session);
    told("connected");
  }
  void on_snapshot(const wire::Snapshot& snapshot) override {
    MutexLock lock(mu_);
    snapshots_.push_back(snapshot);
    told("snapshot");
  }
  void on_events(std::span<const ledger::Event> events) override {
    if (events_hook) events_hook();
    MutexLock lock(mu_);
    events_.insert(events_.end(), events.begin(), events.end());
    told("events");
  }
  void on_disconnected(const Error&) override {
    MutexLock lock(mu_);
    told("disconnected");
  }
  void on_unreachable(const Error&) override {
    MutexLock lock(mu_);
    told("unreachable");
  }

  // The first event of that kind, waited for; nullopt after 60 seconds.
  std::optional<ledger::Event> wait_event(ledger::EventKind kind) {
    std::optional<ledger::Event> found;
    wait([&]() AQUA_NO_THREAD_SAFETY_ANALYSIS {
      for (const auto& event : events_) {
        if (event.kind == kind && !found) found = event;
      }
      return found.has_value();
    });
    return found;
  }
  // True once the n-th session (from 1) is announced, or its snapshot has come.
  bool wait_sessions(std::size_t n, std::chrono::milliseconds patience = kPatience) {
    return wait([&]() AQUA_NO_THREAD_SAFETY_ANALYSIS { return sessions_.size() >= n; }, patience);
  }
  bool wait_unreachable() {
    return wait([&]() AQUA_NO_THREAD_SAFETY_ANALYSIS {
      return std::find(calls_.begin(), calls_.end(), "unreachable") != calls_.end();
    });
  }
  bool wait_events(std::size_t n) {
    return wait([&]() AQUA_NO_THREAD_SAFETY_ANALYSIS { return events_.size() >= n; });
  }
  bool wait_snapshots(std::size_t n) {
    return wait([&]() AQUA_NO_THREAD_SAFETY_ANALYSIS { return snapshots_.size() >= n; });
  }

  std::vector<southbound::Session> sessions() {
    MutexLock lock(mu_);
    return sessions_;
  }
  std::vector<wire::Snapshot> snapshots() {
    MutexLock lock(mu_);
    return snapshots_;
  }
  std::vector<ledger::Event> events() {
    MutexLock lock(mu_);
    return events_;
  }
  std::vector<std::string> calls() {  // "connected", "snapshot" … in order
    MutexLock lock(mu_);
    return calls_;
  }

 private:
  void told(const char* what) AQUA_REQUIRES(mu_) {
    calls_.emplace_back(what);
    changed_.notify_all();
  }
  template <typename Done>
  bool wait(Done done, std::chrono::milliseconds patience = kPatience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    MutexLock lock(mu_);
    while (!done()) {
      if (!changed_.wait_until(mu_, deadline)) return done();
    }
    return true;
  }

  Mutex mu_;
  CondVar changed_;
  std::vector<southbound::Session> sessions_ AQUA_GUARDED_BY(mu_);
  std::vector<wire::Snapshot> snapshots_ AQUA_GUARDED_BY(mu_);
  std::vector<ledger::Event> events_ AQUA_GUARDED_BY(mu_);
  std::vector<std::string> calls_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::testing
