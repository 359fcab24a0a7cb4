// SPDX-License-Identifier: Apache-2.0
// The consumer's process: a paged engine under more load than its cache can hold.
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "arrivals.hpp"
#include "json_lines.hpp"
#include "must.hpp"
#include "roles.hpp"
#include "toy_engine.hpp"

namespace aqua::example {
namespace {

using Clock = std::chrono::steady_clock;

struct Events {  // counted by callbacks, which tick() runs on the engine's thread
  std::uint64_t budgets = 0;
  std::uint64_t lost_tensors = 0;
};

std::uint64_t seed_of(const Options& options) {
  return options.workload.seed * kConsumers + options.index;
}

Runtime open_runtime(const Options& options, Events& events) {
  RuntimeOptions runtime;
  runtime.device = "emu:" + std::to_string(kProducers + options.index);
  runtime.coordinator = coordinator_address(options);
  runtime.name = "consumer-" + std::to_string(options.index);
  runtime.host_bytes = options.expansion.on() ? kLayeredHostBytes : kHostBytes;
  runtime.max_peer_bytes = kMaxPeerBytes;
  runtime.slab_bytes = kSlabBytes;
  runtime.socket_directory = options.directory;
  runtime.callbacks_in_tick = true;
  runtime.emulated.total_bytes = kConsumerBytes;
  runtime.emulated.hostile = options.hostile_device();
  runtime.emulated.seed = seed_of(options);
  runtime.emulated.link_bytes_per_second = options.host_link_mb_per_s * 1'000'000;
  runtime.emulated.peer_bytes_per_second = kPeerOverHost * runtime.emulated.link_bytes_per_second;
  runtime.callbacks.on_budget = [&events](const MemoryBudget&) { ++events.budgets; };
  runtime.callbacks.on_data_loss = [&events](std::uint64_t, const std::string&) {
    ++events.lost_tensors;
  };
  return must(Runtime::open(runtime), runtime.name);
}

EngineOptions engine_options(const Options& options) {
  EngineOptions engine{
      .tenant = options.index, .policy = options.policy, .fallback = options.fallback};
  if (!options.expansion.on()) return engine;
  engine.swap_blocks = kLayeredBudgetBytes / CacheShape::kBlockBytes;
  engine.layers = {
      .device_bytes = kLayeredBytes,
      .frames = options.expansion.frames(),
      .goal = options.expansion.automatic ? "capacity" : "",
      .seed = seed_of(options),
      .layer_time = std::chrono::microseconds(options.iteration) / CacheShape::kLayers};
  return engine;
}

class Consumer {
 public:
  explicit Consumer(const Options& options)
      : iteration_(options.iteration),
        runtime_(open_runtime(options, events_)),
        engine_(runtime_, engine_options(options)),
        commands_(STDIN_FILENO) {}

  void run() {
    (void)write_line(STDOUT_FILENO, {{"say", "ready"}});
    auto next = Clock::now();
    while (!finished_) {
      obey();
      submit_arrived();
      engine_.iterate();
      if (Clock::now() >= next_report_) report();
      // The time that a model's forward pass would take.
      next = std::max(next + iteration_, Clock::now());
      std::this_thread::sleep_until(next);
    }
    say("final");
  }

 private:
  void obey() {
    for (const std::string& line : commands_.read(std::chrono::milliseconds(0))) {
      const auto command = parse_line(line);
      const std::string what = command.at("do");
      if (what == "submit") {
        arrivals_.submit(command, Clock::now());
      } else if (what == "lending") {
        engine_.use_lent_memory(command.at("use"));
      } else if (what == "resize") {
        engine_.change_until(command.at("until"));
      } else {
        finished_ = true;
      }
    }
    if (commands_.ended() && !finished_) throw Failure("the orchestrator has gone");
  }

  void submit_arrived() {
    while (const auto arrived = arrivals_.next(Clock::now())) {
      engine_.submit(arrived->item, arrived->at);
    }
  }

  void report() {
    next_report_ = Clock::now() + kReportPeriod;
    must(runtime_.report(engine_.load()), "report");
    say("stats");
  }

  void say(const char* what) {
    const RuntimeStatus status = runtime_.status();
    ConsumerStats stats = engine_.stats();
    stats.tensors = {status.peer.tensor_bytes, status.host.tensor_bytes};
    stats.leased_bytes = status.peer.capacity_bytes;
    stats.promotions = status.promotions;
    stats.promoted_bytes = status.promoted_bytes;
    stats.evacuations = status.evacuations;
    stats.evacuated_bytes = status.evacuated_bytes;
    stats.budgets = events_.budgets;
    stats.lost_tensors = events_.lost_tensors;
    (void)write_line(STDOUT_FILENO, {{"say", what}, {"stats", stats}});
  }

  const std::chrono::milliseconds iteration_;
  Events events_;
  Runtime runtime_;
  ToyEngine engine_;
  LineReader commands_;
  Arrivals arrivals_;
  Clock::time_point next_report_{};
  bool finished_ = false;
};

}  // namespace

int run_consumer(const Options& options) {
  Consumer(options).run();
  return 0;
}

}  // namespace aqua::example
