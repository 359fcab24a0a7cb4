// SPDX-License-Identifier: Apache-2.0
// The producer's process: an engine with memory to spare, and a load that can be made to rise.
#include <unistd.h>

#include <atomic>

#include "json_lines.hpp"
#include "kv_chunks.hpp"
#include "must.hpp"
#include "reclaim_timer.hpp"
#include "roles.hpp"
#include "stats.hpp"

namespace aqua::example {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Times are a tenth or so of what would suit a real engine.
constexpr ProducerOptions kPolicy{.settle_time = milliseconds(500),
                                  .min_time_between_flips = milliseconds(1500),
                                  .min_offer_bytes = 2 * kSlabBytes};
constexpr LoadProfile kProfile{.steady_requests_per_second = 5,
                               .steady_queue_length = 1,
                               .kv_bytes_total = kProducerBytes,
                               .steady_free_bytes = kSteadyFreeBytes,
                               .producer_threshold_bytes = kSteadyFreeBytes / 2};

constexpr unsigned kReportsPerCheck = 5;  // a chunk each half a second

// The synthetic load.
LoadReport load(bool surge, std::size_t own_bytes) {
  LoadReport report;
  report.requests_per_second = surge ? 15 : 5;
  report.queue_length = surge ? 40 : 1;
  report.kv_bytes_wanted = surge ? kProducerBytes * 9 / 10 : kProducerBytes * 4 / 10;
  report.kv_bytes_used = std::min(own_bytes, report.kv_bytes_wanted);
  return report;
}

class Producer {
 public:
  explicit Producer(const Options& options)
      : runtime_(open_runtime(options)),
        chunks_(runtime_, kChunkBytes, options.index),
        commands_(STDIN_FILENO) {
    must(runtime_.set_profile(kProfile, kPolicy), "set_profile");
    while (chunks_.take(kProducerBytes)) {
    }
  }

  void run() {
    (void)write_line(STDOUT_FILENO, {{"say", "ready"}});
    while (!finished_) {
      if (Clock::now() >= next_report_) report();
      // When its load rises the engine waits for its memory; else it looks after what it has.
      if (wanted_.exchange(false)) lend();
      const bool took = chunks_.take(runtime_.budget().engine_bytes);
      obey(milliseconds(took ? 0 : 2));
    }
    chunks_.check_all();
    say("final");
  }

 private:
  Runtime open_runtime(const Options& options) {
    RuntimeOptions runtime;
    runtime.device = "emu:" + std::to_string(options.index);
    runtime.coordinator = coordinator_address(options);
    runtime.name = "producer-" + std::to_string(options.index);
    runtime.host_bytes = 2_MiB;  // it has no tensors
    runtime.slab_bytes = kSlabBytes;
    runtime.reclaim_deadline = kReclaimDeadline;
    runtime.socket_directory = options.directory;
    runtime.emulated.total_bytes = kProducerBytes;
    runtime.callbacks.on_budget = [this](const MemoryBudget& budget) {
      timer_.on_budget(budget, Clock::now());
      if (budget.reason == BudgetReason::wanted) wanted_ = true;
    };
    return must(Runtime::open(runtime), runtime.name);
  }

  void obey(milliseconds patience) {
    for (const std::string& line : commands_.read(patience)) {
      const auto command = parse_line(line);
      if (command.at("do") == "surge") {
        surge_end_ = Clock::now() + milliseconds(command.at("ms").get<int>());
        ++stats_.surges;
        timer_.start(runtime_.status().lent_bytes, Clock::now());
        next_report_ = {};
      } else {
        finished_ = true;
      }
    }
    if (commands_.ended() && !finished_) throw Failure("the orchestrator has gone");
  }

  void report() {
    const auto now = Clock::now();
    next_report_ = now + kReportPeriod;
    must(runtime_.report(load(now < surge_end_, chunks_.bytes())), "report");
    if (++reports_ % kReportsPerCheck == 0) chunks_.check_next();
    say("stats");
  }

  // The budget says how much the engine may keep; it may hold less already.
  void lend() {
    const std::size_t freed = chunks_.free_down_to(runtime_.budget().engine_bytes);
    if (freed == 0) return;
    must(runtime_.lend(freed), "lend");
    ++stats_.loans;
    stats_.loaned_bytes += freed;
  }

  void say(const char* what) {
    const RuntimeStatus status = runtime_.status();
    stats_.own_bytes = chunks_.bytes();
    stats_.lent_bytes = status.lent_bytes;
    stats_.held_bytes = status.held_bytes;
    const ReclaimTimer::Result timed = timer_.result();
    stats_.reclaims = timed.reclaims;
    stats_.slab_ms = timed.slab_ms;
    stats_.verified_bytes = chunks_.verified_bytes();
    stats_.mismatched_bytes = chunks_.mismatched_bytes();
    (void)write_line(STDOUT_FILENO, {{"say", what}, {"stats", stats_}});
  }

  ReclaimTimer timer_{kSlabBytes};
  std::atomic<bool> wanted_{false};  // by a callback, on a thread of the runtime's
  Runtime runtime_;
  KvChunks chunks_;
  LineReader commands_;
  ProducerStats stats_;
  unsigned reports_ = 0;
  Clock::time_point next_report_{};
  Clock::time_point surge_end_{};
  bool finished_ = false;
};

}  // namespace

int run_producer(const Options& options) {
  Producer(options).run();
  return 0;
}

}  // namespace aqua::example
