// SPDX-License-Identifier: Apache-2.0
#include "tools/router/fleet/sweeps.hpp"

#include "tools/http/http_client.hpp"
#include "tools/router/speech/kv_moves.hpp"

namespace aqua::router {
namespace {

constexpr std::size_t kMostSweeps = 4096;
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

void Sweeps::add(const std::string& pool, const std::string& request) {
  const MutexLock lock(mu_);
  if (due_.size() >= kMostSweeps) due_.erase(due_.begin());
  due_[{pool, request}] = ++last_;
  added_ = true;
  changed_.notify_all();
}

void Sweeps::forget(const std::string& pool, const std::string& request) {
  const MutexLock lock(mu_);
  const Sweep sweep{pool, request};
  due_.erase(sweep);
  while (asked_ == sweep) changed_.wait(mu_);
}

std::size_t Sweeps::waiting() const {
  const MutexLock lock(mu_);
  return due_.size();
}

void Sweeps::run(const std::stop_token& stop) {
  for (;;) {
    Sweeping round;
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
    for (const auto& wanted : round) {
      if (!carry_out(wanted, stop)) continue;
      const MutexLock lock(mu_);
      if (is_wanted(wanted)) due_.erase(wanted.first);
    }
  }
}

bool Sweeps::is_wanted(const Sweeping::value_type& wanted) const {
  const auto now = due_.find(wanted.first);
  return now != due_.end() && now->second == wanted.second;
}

bool Sweeps::begin_asking(const Sweeping::value_type& wanted) {
  const MutexLock lock(mu_);
  if (!is_wanted(wanted)) return false;
  asked_ = wanted.first;
  return true;
}

void Sweeps::end_asking() {
  const MutexLock lock(mu_);
  asked_.reset();
  changed_.notify_all();
}

bool Sweeps::carry_out(const Sweeping::value_type& wanted, const std::stop_token& stop) {
  const auto& [pool, request] = wanted.first;
  const EngineCall call = sweep_order(request);
  for (const auto& engine : engines_(pool)) {
    if (!begin_asking(wanted)) return false;
    http::HttpClient client(engine->url, {.api_key = engine->api_key,
                                          .timeout = kSweepPatience,
                                          .whole = kSweepPatience,
                                          .stop = stop});
    const auto reply = client.post(call.path, call.body,
                                   [](std::string_view, auto) { return http::Heard::something; });
    end_asking();
    if (reply.ok() && reply->status == 200) return true;
    if (stop.stop_requested()) return false;
  }
  return false;
}

}  // namespace aqua::router
