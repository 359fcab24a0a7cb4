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
  if (!due_.contains(name) && due_.size() >= kMost) {
    due_.erase(std::ranges::min_element(due_, {},
                                        [](const auto& entry) { return entry.second.wanted_as; }));
    ++forgotten_;
  }
  Sweep& sweep = due_[name];
  sweep.up_to = std::max(sweep.up_to, up_to);
  sweep.wanted_as = ++last_;
  added_ = true;
  changed_.notify_all();
}

std::size_t Sweeps::waiting() const {
  const MutexLock lock(mu_);
  return due_.size();
}

std::uint64_t Sweeps::forgotten() const {
  const MutexLock lock(mu_);
  return forgotten_;
}

void Sweeps::run(const std::stop_token& stop) {
  for (;;) {
    std::map<Name, Sweep> round;
    {
      const MutexLock lock(mu_);
      const auto until = std::chrono::steady_clock::now() + again_;
      while (!over_ && !added_ && (due_.empty() || std::chrono::steady_clock::now() < until)) {
        if (due_.empty()) {
          changed_.wait(mu_);
        } else {
          (void)changed_.wait_until(mu_, until);
        }
      }
      if (over_) return;
      added_ = false;
      round = due_;
    }
    for (const auto& [name, sweep] : round) {
      if (!carry_out(name, sweep.up_to, stop)) continue;
      const MutexLock lock(mu_);
      const auto found = due_.find(name);
      // One that was wanted again meanwhile may be of a later move.
      if (found != due_.end() && found->second.wanted_as == sweep.wanted_as) due_.erase(found);
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
