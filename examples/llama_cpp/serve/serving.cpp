// SPDX-License-Identifier: Apache-2.0
#include "serving.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "must.hpp"

namespace aqua::llama_example {
namespace {

// Pages and caches as they will be: the first pass of a shape is slower. Returns the seconds that
// one token of one sequence takes, the best of three: no answer comes faster.
double warm_up(BatchEngine& engine, const std::vector<Token>& prompt, unsigned chunk,
               EngineClock::Kind kind) {
  const EngineClock clock(kind);
  double alone = 0;
  for (const std::size_t tokens :
       {std::size_t{chunk}, std::size_t{1}, std::size_t{1}, std::size_t{1}}) {
    const double begin = clock.now();
    engine.begin();
    engine.add(0, 0, std::span(prompt).first(std::min(tokens, prompt.size())), true);
    (void)engine.run();
    engine.drop(0);
    const double took = clock.now() - begin;
    alone = alone > 0 ? std::min(alone, took) : took;
  }
  return alone;
}

}  // namespace

// As many slots as blocks: each resident has a block at least.
Serving::Serving(const Model& model, const ServeOptions& options, const std::vector<Asked>& load)
    : model_(model),
      options_(options),
      load_(load),
      engine_(model, options.kv_tokens / kTokensPerBlock, options.kv_tokens + options.chunk,
              options.chunk, options.threads) {
  const double alone = warm_up(engine_, load.front().prompt, options.chunk, options.clock);
  if (options.policy != "auto" || alone <= options.seconds_per_token) return;
  throw example::Failure("--seconds-per-token " + std::to_string(options.seconds_per_token) +
                         " cannot be met: a token of a single answer takes " +
                         std::to_string(alone) + " s");
}

Serving::Run Serving::run(const SwapSpace& swap) {
  const bool by_cpu = options_.clock == EngineClock::Kind::cpu;
  Run run{.log = {.engine = "llama.cpp, " + model_.description() + ", " +
                            std::to_string(options_.threads) + " threads, " +
                            (by_cpu ? "cpu" : "wall") + " time",
                  .policy = options_.policy},
          .prefixes = {},
          .status = {}};
  schedule::SchedulerOptions& scheduler = run.log.scheduler;
  scheduler.budget_tokens = options_.chunk;
  scheduler.slice_iterations = options_.slice;
  scheduler.min_prefill_tokens = options_.chunk / 4;
  scheduler.seconds_per_token = options_.seconds_per_token;
  scheduler.block_tokens = kTokensPerBlock;
  scheduler.device_blocks = slots();
  scheduler.fcfs_on_slow_tier = false;
  run.log.kv_bytes_per_token = static_cast<double>(model_.kv_bytes_per_token());
  run.log.kv_step_tokens = BatchEngine::kKvStepTokens;
  OpenLoop loop(engine_, slots(), load_, swap, run.log);
  loop.run(options_.clock);
  run.prefixes = loop.prefix_use();
  run.status = loop.status();
  return run;
}

std::vector<std::byte> Serving::sample_state() {
  engine_.begin();
  engine_.add(0, 0, std::span(load_.front().prompt).first(1), true);
  (void)engine_.run();
  std::vector<std::byte> state(engine_.state_bytes(0));
  engine_.save(0, state);
  engine_.drop(0);
  return state;
}

}  // namespace aqua::llama_example
