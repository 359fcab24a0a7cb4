// SPDX-License-Identifier: Apache-2.0
// LoadRun: plays a load against a running engine and watches every token.
//
// Threads: one for each request in flight, started when there is need; run() on the caller's.
//          Latencies count from when a request was to be sent, so a client or an engine that is
//          late is seen.
#pragma once

#include <memory>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "tools/profiler/load/answer.hpp"
#include "tools/profiler/load/load.hpp"

namespace aqua::profiler {

struct LoadOptions {
  Sla sla{};
  bool judge = true;                  // stop as soon as it is clear that the SLA is missed …
  bool whole = false;                 // … or, unless this is set, that it is met
  std::uint64_t first_prompt = 1;     // each request's prompt is drawn from one number more
  std::size_t most_in_flight = 2048;  // a request that finds more waits, and its latency counts
};

class LoadRun {
 public:
  // `engine` outlives it.
  LoadRun(const EngineLink& engine, std::vector<Ask> asks, const LoadOptions& options);
  ~LoadRun();
  LoadRun(const LoadRun&) = delete;
  LoadRun& operator=(const LoadRun&) = delete;

  // Once. Blocks until all is answered, the outcome is clear, or `stop` is asked for; then what is
  // in flight is cut off.
  [[nodiscard]] LoadResult run(const std::stop_token& stop);

 private:
  struct Member {
    explicit Member(const EngineLink& engine) : client(engine.url, engine.http) {}
    HttpClient client;
    std::thread thread{};
  };

  void send(std::size_t index) AQUA_EXCLUDES(mu_);
  void hire() AQUA_REQUIRES(mu_);
  void end_for(const std::string& shortage) AQUA_REQUIRES(mu_);
  void wait_until(Clock::time_point until) AQUA_EXCLUDES(mu_);
  void serve(Member& member) AQUA_EXCLUDES(mu_);
  [[nodiscard]] bool token(std::size_t index, Clock::time_point at, Clock::time_point& last)
      AQUA_EXCLUDES(mu_);
  void ended(std::size_t index, const Answer& answer) AQUA_EXCLUDES(mu_);
  void judge(Clock::time_point now) AQUA_REQUIRES(mu_);
  [[nodiscard]] Clock::time_point next_overdue() AQUA_REQUIRES(mu_);
  void cut_off() AQUA_EXCLUDES(mu_);
  [[nodiscard]] LoadResult result() AQUA_EXCLUDES(mu_);

  [[nodiscard]] Clock::time_point due(std::size_t index) const {
    return start_ + engine_.ours(asks_[index].at_s);
  }

  const EngineLink& engine_;
  const std::vector<Ask> asks_;
  const LoadOptions options_;
  Clock::time_point start_{};

  Mutex mu_;
  CondVar changed_;  // for run()
  CondVar work_;     // for members
  Verdict verdict_ AQUA_GUARDED_BY(mu_);
  LoadResult result_ AQUA_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<Member>> members_ AQUA_GUARDED_BY(mu_);
  std::vector<std::size_t> queue_ AQUA_GUARDED_BY(mu_);    // sent, taken by nobody: newest last
  std::set<std::size_t> unanswered_ AQUA_GUARDED_BY(mu_);  // sent, without a first token
  std::size_t idle_ AQUA_GUARDED_BY(mu_) = 0;
  std::size_t ended_ AQUA_GUARDED_BY(mu_) = 0;
  bool over_ AQUA_GUARDED_BY(mu_) = false;
};

}  // namespace aqua::profiler
