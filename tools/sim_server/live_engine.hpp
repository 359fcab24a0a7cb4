// SPDX-License-Identifier: Apache-2.0
// LiveEngine: a serving engine that computes nothing and takes as long as the simulator's cost
// model says, in real time, `speed` times as fast. The scheduler is the library's, first come
// first served; whom it preempts is computed again.
//
// Threads: one of its own; every method from any.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "aqua/schedule/scheduler.hpp"
#include "base/mutex.hpp"
#include "tools/sim/report/scenario.hpp"

namespace aqua::tool {

class LiveEngine {
 public:
  // What one request gets. Guarded by the engine's mutex.
  struct Job {
    std::uint32_t prompt = 0, output = 0;
    std::uint32_t produced = 0;
    bool refused = false;  // larger than the device
    bool aborted = false;
    CondVar changed;
  };
  struct Progress {
    std::uint32_t produced = 0;
    bool refused = false;
  };
  struct Memory {
    std::uint32_t blocks = 0, held = 0;
  };

  // `ground` outlives it.
  LiveEngine(const sim::Ground& ground, double speed);
  ~LiveEngine();
  LiveEngine(const LiveEngine&) = delete;
  LiveEngine& operator=(const LiveEngine&) = delete;

  [[nodiscard]] std::shared_ptr<Job> submit(std::uint32_t prompt, std::uint32_t output);
  void abort(const std::shared_ptr<Job>& job);
  // Until more than `had` tokens are there, it is refused, or `patience` has passed.
  [[nodiscard]] Progress await(Job& job, std::uint32_t had, std::chrono::milliseconds patience);
  [[nodiscard]] Memory memory() const;

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  void take_news() AQUA_REQUIRES(mu_);
  [[nodiscard]] sim::Picos length_of(const schedule::Batch& batch) const AQUA_REQUIRES(mu_);
  void give_token(schedule::SequenceId id) AQUA_REQUIRES(mu_);

  const sim::Ground& ground_;
  const double speed_;
  mutable Mutex mu_;
  CondVar news_;
  std::unique_ptr<schedule::Scheduler> scheduler_ AQUA_GUARDED_BY(mu_);
  std::map<schedule::SequenceId, std::shared_ptr<Job>> jobs_
      AQUA_GUARDED_BY(mu_);  // that the scheduler knows
  std::vector<std::shared_ptr<Job>> arrivals_ AQUA_GUARDED_BY(mu_);
  std::uint64_t next_id_ AQUA_GUARDED_BY(mu_) = 0;
  bool over_ AQUA_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace aqua::tool
