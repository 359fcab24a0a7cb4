// SPDX-License-Identifier: Apache-2.0
// llama_serve: llama.cpp as a server under a load that comes by the clock, and a record of what
// each request, iteration and copy took. `aqua simulate --calibrate` fits its costs to one record
// and predicts another with them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <random>

#include "conversation.hpp"
#include "must.hpp"
#include "open_loop.hpp"

namespace aqua::llama_example {
namespace {

struct ServeOptions {
  std::string model, policy = "cfs", clock = "wall", json;
  unsigned requests = 60, prompt = 200, output = 40, seed = 1, threads = 1;
  double rate = 0.5;
  unsigned kv_tokens = 2048, chunk = 128, slice = 16;
};

constexpr unsigned kBlockTokens = 16;

// Lengths evenly from half to three halves of the mean; Poisson arrivals, the first at once.
std::vector<Asked> make_load(const Model& model, const ServeOptions& options) {
  std::mt19937_64 random(options.seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11U) * 0x1p-53; };
  const auto around = [&](unsigned mean) {
    return std::max(1U, static_cast<unsigned>(mean / 2.0 + uniform() * mean));
  };
  std::vector<Asked> load;
  double arrival = 0;
  for (unsigned i = 0; i < options.requests; ++i) {
    const unsigned prompt = around(options.prompt);
    load.push_back(
        {arrival, make_prompt(model, prompt, options.seed * 100'000 + i), around(options.output)});
    arrival -= std::log1p(-uniform()) / options.rate;
  }
  return load;
}

// Pages and caches as they will be: the first pass of a shape is slower.
void warm_up(BatchEngine& engine, const std::vector<Token>& prompt, unsigned chunk) {
  for (const std::size_t tokens : {std::size_t{chunk}, std::size_t{1}}) {
    engine.begin();
    engine.add(0, 0, std::span(prompt).first(std::min(tokens, prompt.size())), true);
    (void)engine.run();
    engine.drop(0);
  }
}

void serve(const ServeOptions& options) {
  const Model model(options.model);
  RunLog log{.engine = "llama.cpp, " + model.description() + ", " +
                       std::to_string(options.threads) + " threads, " + options.clock + " time",
             .policy = options.policy};
  log.scheduler.budget_tokens = options.chunk;
  log.scheduler.slice_iterations = options.slice;
  log.scheduler.min_prefill_tokens = options.chunk / 4;
  log.scheduler.block_tokens = kBlockTokens;
  log.scheduler.device_blocks = options.kv_tokens / kBlockTokens;
  log.scheduler.fcfs_on_slow_tier = false;
  log.scheduler.swap_tier = Tier::host;
  log.kv_bytes_per_token = static_cast<double>(model.kv_bytes_per_token());
  log.kv_step_tokens = BatchEngine::kKvStepTokens;
  const unsigned slots = log.scheduler.device_blocks;  // each resident has a block at least
  BatchEngine engine(model, slots, options.kv_tokens + options.chunk, options.chunk,
                     options.threads);
  const std::vector<Asked> load = make_load(model, options);
  warm_up(engine, load.front().prompt, options.chunk);
  OpenLoop(engine, slots, load, log)
      .run(options.clock == "cpu" ? EngineClock::Kind::cpu : EngineClock::Kind::wall);
  std::ofstream file(options.json);
  file << to_json(log).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  file.close();
  if (!file) throw example::Failure("cannot write " + options.json);
  double end = 0;
  for (const LoggedRequest& request : log.requests) end = std::max(end, request.end);
  std::printf("%zu requests in %.1f s, %zu iterations, %zu copies\n", log.requests.size(), end,
              log.iterations.size(), log.copies.size());
}

}  // namespace
}  // namespace aqua::llama_example

int main(int argc, char** argv) {
  using namespace aqua::llama_example;
  ServeOptions o;
  CLI::App app{"Serves made-up prompts with llama.cpp as they come, and writes down what it took."};
  app.option_defaults()->always_capture_default();
  app.add_option("--model", o.model, "GGUF file")->required()->check(CLI::ExistingFile);
  app.add_option("--json", o.json, "the record")->required();
  app.add_option("--policy", o.policy, "fcfs, vtc, las or cfs");
  app.add_option("--requests", o.requests, "that come in all")->check(CLI::Range(1, 100'000));
  app.add_option("--rate", o.rate, "requests a second, Poisson")->check(CLI::Range(1e-3, 1e6));
  app.add_option("--prompt-tokens", o.prompt, "mean")->check(CLI::Range(2, 10'000));
  app.add_option("--output-tokens", o.output, "mean")->check(CLI::Range(2, 10'000));
  app.add_option("--kv-tokens", o.kv_tokens, "of the KV cache")->check(CLI::Range(256, 4096));
  app.add_option("--chunk", o.chunk, "tokens in a batch at most")->check(CLI::Range(8, 2048));
  app.add_option("--slice", o.slice, "iterations of a time slice")->check(CLI::Range(1, 100'000));
  app.add_option("--seed", o.seed, "of lengths and arrivals");
  app.add_option("--threads", o.threads, "of llama.cpp")->check(CLI::Range(1, 256));
  app.add_option("--clock", o.clock,
                 "wall, or cpu: the time that the one thread computes, whatever else runs")
      ->check(CLI::IsMember({"wall", "cpu"}));
  CLI11_PARSE(app, argc, argv);
  if (o.clock == "cpu" && o.threads != 1) {
    std::fprintf(stderr, "llama_serve: --clock cpu is of one thread; --threads is %u\n", o.threads);
    return 2;
  }
  try {
    serve(o);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "llama_serve: %s\n", error.what());
    return 1;
  }
}
