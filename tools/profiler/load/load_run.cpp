// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/load/load_run.hpp"

#include <algorithm>
#include <optional>

#include "tools/http/start_thread.hpp"
#include "tools/sim/report/metrics.hpp"

namespace aqua::profiler {
namespace {

// Before the first request, so that it is not late.
constexpr std::chrono::milliseconds kLead{5};

}  // namespace

LoadRun::LoadRun(const EngineLink& engine, std::vector<Ask> asks, const LoadOptions& options)
    : engine_(engine),
      asks_(std::move(asks)),
      options_(options),
      verdict_(options.sla, asks_.size(), gaps_of(asks_), options.whole) {}

LoadRun::~LoadRun() {
  cut_off();
}

LoadResult LoadRun::run(const std::stop_token& stop) {
  {
    const MutexLock lock(mu_);
    result_.trips.resize(asks_.size());
  }
  start_ = Clock::now() + kLead;
  const std::stop_callback stopped(stop, [this] {
    const MutexLock lock(mu_);
    over_ = true;
    changed_.notify_all();
  });
  for (std::size_t i = 0; i < asks_.size(); ++i) {
    wait_until(due(i));
    {
      const MutexLock lock(mu_);
      if (over_) break;
    }
    send(i);
  }
  wait_until(Clock::time_point::max());
  cut_off();
  return result();
}

void LoadRun::send(std::size_t index) {
  const MutexLock lock(mu_);
  result_.trips[index].at_s = asks_[index].at_s;
  unanswered_.insert(index);
  queue_.insert(queue_.begin(), index);
  if (idle_ < queue_.size() && members_.size() < options_.most_in_flight) hire();
  work_.notify_one();
}

void LoadRun::hire() {
  Member& member = *members_.emplace_back(std::make_unique<Member>(engine_));
  auto thread = http::start_thread([this, &member] { serve(member); });
  if (!thread.ok()) {
    members_.pop_back();
    return end_for(thread.error().message);
  }
  member.thread = std::move(thread).value();
}

// A load that this machine cannot play says nothing of the engine.
void LoadRun::end_for(const std::string& shortage) {
  result_.shortage = shortage;
  over_ = true;
  changed_.notify_all();
}

// Until then, or until it is over: clear, or all answered.
void LoadRun::wait_until(Clock::time_point until) {
  const MutexLock lock(mu_);
  for (;;) {
    const Clock::time_point now = Clock::now();
    judge(now);
    if (over_ || ended_ == asks_.size() || now >= until) return;
    const Clock::time_point wake = std::min(until, next_overdue());
    if (wake == Clock::time_point::max()) {
      changed_.wait(mu_);
    } else {
      (void)changed_.wait_until(mu_, wake);
    }
  }
}

void LoadRun::serve(Member& member) {
  for (;;) {
    std::size_t index = 0;
    {
      const MutexLock lock(mu_);
      ++idle_;
      while (queue_.empty() && !over_) work_.wait(mu_);
      --idle_;
      if (over_) return;
      index = queue_.back();
      queue_.pop_back();
      result_.trips[index].sent_s = engine_.theirs(Clock::now() - start_);
    }
    Clock::time_point last{};
    const Answer answer =
        ask_engine(member.client, engine_, asks_[index], options_.first_prompt + index,
                   [&](Clock::time_point at) { return token(index, at, last); });
    ended(index, answer);
  }
}

bool LoadRun::token(std::size_t index, Clock::time_point at, Clock::time_point& last) {
  const MutexLock lock(mu_);
  if (over_) return false;
  Trip& trip = result_.trips[index];
  if (trip.first_s < 0) {
    trip.first_s = engine_.theirs(at - start_);
    unanswered_.erase(index);
    verdict_.first_token(trip.first_s - trip.at_s);
  } else {
    verdict_.gap(engine_.theirs(at - last));
  }
  last = at;
  judge(at);
  return !over_;
}

void LoadRun::ended(std::size_t index, const Answer& answer) {
  const MutexLock lock(mu_);
  if (over_) return;
  if (answer.ours) return end_for(answer.fault);
  Trip& trip = result_.trips[index];
  ++ended_;
  if (answer.fault.empty()) {
    trip.end_s = engine_.theirs(Clock::now() - start_);
    trip.prompt_tokens = answer.prompt_tokens;
    trip.output_tokens = answer.output_tokens;
    std::string difference = unlike(asks_[index], answer);
    if (!difference.empty() && result_.differences++ == 0)
      result_.difference = std::move(difference);
  } else {
    // One that broke off has met nothing, though its first token came.
    unanswered_.erase(index);
    verdict_.failed(trip.first_s < 0 ? std::nullopt : std::optional(trip.first_s - trip.at_s));
    if (!answer.refused) {
      if (result_.faults++ == 0) result_.fault = answer.fault;
    }
  }
  changed_.notify_all();
}

void LoadRun::judge(Clock::time_point now) {
  if (!options_.judge || over_) return;
  const Clock::duration limit = engine_.ours(options_.sla.ttft_s);
  Waiting waiting;
  for (const std::size_t index : unanswered_) {
    if (now - due(index) < limit / 2) break;
    ++waiting.half;
    waiting.overdue += now - due(index) < limit ? 0U : 1U;
  }
  const Standing standing = verdict_.standing(waiting);
  // A whole load ends with its last answer, not with that one's last token.
  if (standing == Standing::open || (options_.whole && standing == Standing::met)) return;
  result_.standing = standing;
  over_ = true;
  changed_.notify_all();
}

// When the next request will have waited too long.
Clock::time_point LoadRun::next_overdue() {
  if (!options_.judge) return Clock::time_point::max();
  const Clock::duration limit = engine_.ours(options_.sla.ttft_s);
  const Clock::time_point now = Clock::now();
  for (const std::size_t index : unanswered_) {
    if (due(index) + limit > now) return due(index) + limit;
  }
  return Clock::time_point::max();
}

void LoadRun::cut_off() {
  std::vector<std::unique_ptr<Member>> members;
  {
    const MutexLock lock(mu_);
    over_ = true;
    members.swap(members_);
    work_.notify_all();
  }
  for (const auto& member : members) member->client.stop();
  for (const auto& member : members) member->thread.join();
}

LoadResult LoadRun::result() {
  const MutexLock lock(mu_);
  if (result_.standing == Standing::open && ended_ == asks_.size())
    result_.standing = verdict_.final();
  result_.quantiles = verdict_.quantiles();
  result_.answered = verdict_.answered();
  result_.failures = verdict_.failures();
  result_.seconds = engine_.theirs(Clock::now() - start_);
  std::vector<double> lateness;
  for (const Trip& trip : result_.trips) {
    if (trip.sent_s >= 0) lateness.push_back(std::max(0.0, trip.sent_s - trip.at_s));
  }
  result_.lateness_s = sim::quantile(lateness, 0.99);
  return std::move(result_);
}

}  // namespace aqua::profiler
