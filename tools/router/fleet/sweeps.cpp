// SPDX-License-Identifier: Apache-2.0
#include "tools/router/fleet/sweeps.hpp"

#include <algorithm>

#include "tools/http/http_client.hpp"
#include "tools/router/speech/kv_moves.hpp"

namespace aqua::router {
namespace {

constexpr std::chrono::seconds kSweepPatience{2};

}  // namespace

Sweeps::Sweeps(EnginesOf engines, std::chrono::milliseconds again)
    : engines_(std::move(engines)),
      again_(again),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Sweeps::~Sweeps() {
  {
    const MutexLock lock(mu_);
    over_ = true;
    changed_.notify_all();
  }
  thread_.request_stop();
}

void Sweeps::add(const Name& name, Turn up_to) {
  const MutexLock lock(mu_);
  if (!wanted_.contains(name) && wanted_.size() >= kMost) {
    wanted_.erase(std::ranges::min_element(
        wanted_, {}, [](const auto& entry) { return entry.second.wanted_as; }));
    ++forgotten_;
  }
  const auto now = Clock::now();
  Sweep& sweep = wanted_.try_emplace(name, Sweep{.since = now}).first->second;
  sweep.up_to = std::max(sweep.up_to, up_to);
  sweep.wanted_as = ++last_;
  sweep.next = now;
  changed_.notify_all();
}

std::size_t Sweeps::waiting() const {
  const MutexLock lock(mu_);
  return wanted_.size();
}

Sweeps::Clock::duration Sweeps::oldest() const {
  const MutexLock lock(mu_);
  const auto now = Clock::now();
  auto since = now;
  for (const auto& [name, sweep] : wanted_) since = std::min(since, sweep.since);
  return now - since;
}

std::uint64_t Sweeps::forgotten() const {
  const MutexLock lock(mu_);
  return forgotten_;
}

std::map<Sweeps::Name, Sweeps::Sweep> Sweeps::due_by(Clock::time_point now) const {
  std::map<Name, Sweep> due;
  for (const auto& [name, sweep] : wanted_) {
    if (sweep.next <= now) due.emplace(name, sweep);
  }
  return due;
}

Sweeps::Clock::time_point Sweeps::next_try() const {
  auto next = Clock::time_point::max();
  for (const auto& [name, sweep] : wanted_) next = std::min(next, sweep.next);
  return next;
}

void Sweeps::run(const std::stop_token& stop) {
  for (;;) {
    std::map<Name, Sweep> round;
    {
      const MutexLock lock(mu_);
      while (!over_ && (round = due_by(Clock::now())).empty()) {
        if (wanted_.empty()) {
          changed_.wait(mu_);
        } else {
          (void)changed_.wait_until(mu_, next_try());
        }
      }
      if (over_) return;
    }
    for (const auto& [name, sweep] : round) {
      const bool done = carry_out(name, sweep.up_to, stop);
      const MutexLock lock(mu_);
      const auto found = wanted_.find(name);
      // One that was wanted again meanwhile may be of a later move, and is tried at once.
      if (found == wanted_.end() || found->second.wanted_as != sweep.wanted_as) continue;
      if (done) {
        wanted_.erase(found);
      } else {
        found->second.next = Clock::now() + again_;
      }
    }
  }
}

bool Sweeps::carry_out(const Name& name, Turn up_to, const std::stop_token& stop) const {
  const EngineCall call = sweep_order({name.request, up_to});
  const bool left = sweep(name.from, call, stop);
  return (name.from == name.to || sweep(name.to, call, stop)) && left;
}

bool Sweeps::sweep(const std::string& pool, const EngineCall& call,
                   const std::stop_token& stop) const {
  for (const auto& engine : engines_(pool)) {
    http::HttpClient client(engine->url, {.api_key = engine->api_key,
                                          .timeout = kSweepPatience,
                                          .whole = kSweepPatience,
                                          .stop = stop});
    const auto reply = client.post(call.path, call.body,
                                   [](std::string_view, auto) { return http::Heard::something; });
    if (reply.ok() && reply->status == 200) return true;
    if (stop.stop_requested()) return false;
  }
  return false;
}

}  // namespace aqua::router
