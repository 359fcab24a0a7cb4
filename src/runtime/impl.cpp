// SPDX-License-Identifier: Apache-2.0
#include "runtime/impl.hpp"

#include <algorithm>
#include <cstdio>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "runtime/options.hpp"

namespace aqua {

using runtime::Clock;

Runtime::Impl::Impl(RuntimeOptions options, std::unique_ptr<device::Device> device)
    : options_(std::move(options)),
      device_(std::move(device)),
      copy_news_(device_->info()),
      callbacks_(options_.callbacks_in_tick),
      services_{loop_,
                coordinator_calls_,
                unmap_queue_,
                callbacks_,
                nullptr,
                [this](LogLevel level, const std::string& text) { log(level, text); },
                [this](BudgetReason reason) { budget_changed(reason); },
                [this](Clock::time_point at) { second_look_.want(at); }},
      group_leaver_(services_),
      second_look_(services_,
                   [this](const wire::Snapshot& snapshot) {
                     lender_.on_snapshot(snapshot);
                     if (borrower_ != nullptr) borrower_->settle(snapshot);
                     group_leaver_.again();
                   }),
      lender_(services_) {}

Result<std::unique_ptr<Runtime::Impl>> Runtime::Impl::open(const RuntimeOptions& requested) {
  AQUA_ASSIGN(RuntimeOptions options, runtime::resolve(requested));
  AQUA_ASSIGN(const auto profile, runtime::profile_of(options));
  if (profile) runtime::apply(*profile, options);
  AQUA_ASSIGN(auto device, runtime::open_device(options));
  std::unique_ptr<Impl> impl(new Impl(std::move(options), std::move(device)));
  if (profile && !profile->complete) {
    impl->log(
        LogLevel::warning,
        concat("profile ", impl->options_.profile, ": its run was stopped before its end; it ",
               "counts for what it has. `aqua profile --resume` finishes it"));
  }
  if (profile && profile->role == ProfileRole::producer)
    AQUA_TRY(impl->set_profile(to_load_profile(*profile), {}));
  AQUA_TRY(impl->open_memory());
  AQUA_TRY(impl->open_coordinator());
  Impl& self = *impl;
  impl->loop_.start([&self](Clock::time_point now) { return self.step(now); });
  impl->budget_changed(BudgetReason::opened);
  return impl;
}

Runtime::Impl::~Impl() {
  tell_survivors();
  if (curves_ != nullptr) curves_->stop();
  loop_.stop();
  if (coordinator_ != nullptr) coordinator_->hurry();
  coordinator_calls_.stop();
  unmap_queue_.stop();
  callbacks_.stop();
  if (borrower_ != nullptr) borrower_->close();
  // What was posted under pins of freed tensors may write until it has ended, to host memory too.
  if (table_ != nullptr) table_->deferred().drain();
  if (exporter_ != nullptr) lender_.close();
  if (coordinator_ != nullptr) coordinator_->close();
}

void Runtime::Impl::tell_survivors() const {
  if (table_ == nullptr) return;
  const auto alive = table_->all();
  if (alive.empty()) return;
  log(LogLevel::error,
      concat(alive.size(), " tensors outlive this runtime, and will crash (one is '",
             alive.front()->options().name, "'): declare the runtime before whatever holds them"));
}

Clock::time_point Runtime::Impl::step(Clock::time_point now) {
  std::vector<std::shared_ptr<runtime::PoolShare>> pools;
  {
    const MutexLock lock(mu_);
    std::erase_if(pools_, [](const auto& pool) { return pool.expired(); });
    for (const auto& weak : pools_) {
      if (auto pool = weak.lock()) pools.push_back(std::move(pool));
    }
  }
  for (const std::string& line : copy_news_.take(device_->copy_counts()))
    log(LogLevel::warning, line);
  auto next = lender_.step(now);
  mover_->sweep();
  if (mover_->in_flight() > 0) next = std::min(next, now + std::chrono::milliseconds(100));
  next = std::min(next, second_look_.step(now));
  for (const auto& pool : pools) {
    if (pool->step())
      next = std::min(next, now + std::chrono::milliseconds(1));  // device events wake nobody
  }
  return borrower_ == nullptr ? next : std::min(next, borrower_->step(now));
}

std::shared_ptr<runtime::PoolShare> Runtime::Impl::share(
    std::unique_ptr<lending::ElasticPool> pool) {
  auto shared =
      std::make_shared<runtime::PoolShare>(std::move(pool), lender_, producer_, services_);
  const MutexLock lock(mu_);
  pools_.push_back(shared);
  return shared;
}

void Runtime::Impl::log(LogLevel level, const std::string& text) const {
  if (options_.callbacks.on_log) return options_.callbacks.on_log(level, text);
  if (level != LogLevel::info)
    std::fprintf(stderr, "aqua[%s]: %s\n", options_.name.c_str(), text.c_str());
}

void Runtime::Impl::on_connected(const southbound::Session& session) {
  group_leaver_.again();
  lender_.declare(session);
  loop_.post([this, session] {
    lender_.on_connected(session);
    if (borrower_ != nullptr) borrower_->on_connected();
  });
}

void Runtime::Impl::on_snapshot(const wire::Snapshot& snapshot) {
  loop_.post([this, snapshot] {
    lender_.on_snapshot(snapshot);
    if (borrower_ != nullptr) borrower_->on_snapshot(snapshot);
  });
}

void Runtime::Impl::on_events(std::span<const ledger::Event> events) {
  loop_.post([this, list = std::vector<ledger::Event>(events.begin(), events.end())] {
    for (const ledger::Event& event : list) {
      lender_.on_event(event);
      if (borrower_ != nullptr) borrower_->on_event(event);
    }
  });
}

void Runtime::Impl::on_disconnected(const Error& reason) {
  log(LogLevel::warning, concat("coordinator: ", reason.message, "; what is leased stays leased"));
  loop_.nudge();
}

void Runtime::Impl::on_unreachable(const Error& reason) {
  log(LogLevel::warning, concat("coordinator: ", reason.message,
                                "; nothing is borrowed or lent until it answers (it is asked "
                                "again and again)"));
}

}  // namespace aqua
