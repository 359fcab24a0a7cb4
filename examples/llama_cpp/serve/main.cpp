// SPDX-License-Identifier: Apache-2.0
// llama_serve: llama.cpp as a server under a load that comes by the clock, and a record of what
// each request, iteration and copy took. `aqua simulate --calibrate` fits its costs to one record
// and predicts another with them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "conversation.hpp"
#include "must.hpp"
#include "open_loop.hpp"
#include "program.hpp"

namespace aqua::llama_example {
namespace {

struct ServeOptions {
  std::string model, policy = "cfs", json;
  EngineClock::Kind clock = EngineClock::Kind::wall;
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
                       std::to_string(options.threads) + " threads, " +
                       (options.clock == EngineClock::Kind::cpu ? "cpu" : "wall") + " time",
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
  OpenLoop(engine, slots, load, log).run(options.clock);
  std::ofstream file(options.json);
  file << to_json(log).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  file.close();
  if (!file) throw example::Failure("cannot write " + options.json);
  double end = 0;
  for (const LoggedRequest& request : log.requests) end = std::max(end, request.end);
  std::printf("%zu requests in %.1f s, %zu iterations, %zu copies\n", log.requests.size(), end,
              log.iterations.size(), log.copies.size());
}

CommandLine serve_line(ServeOptions& o) {
  CommandLine line("", R"(Usage: llama_serve --model FILE --json FILE [options]

Serves made-up prompts with llama.cpp as they come, and writes down what it took.)");
  line.text("--model", o.model, "FILE", "GGUF file")
      .text("--json", o.json, "FILE", "the record")
      .text("--policy", o.policy, "NAME", "auto, fcfs, vtc, las or cfs")
      .number("--requests", o.requests, 1, 100'000, "N", "that come in all")
      .number("--rate", o.rate, 1e-3, 1e6, "R", "requests a second, Poisson")
      .number("--prompt-tokens", o.prompt, 2, 10'000, "N", "mean")
      .number("--output-tokens", o.output, 2, 10'000, "N", "mean")
      .number("--kv-tokens", o.kv_tokens, 256, 4096, "N", "of the KV cache")
      .number("--chunk", o.chunk, 8, 2048, "N", "tokens in a batch at most")
      .number("--slice", o.slice, 1, 100'000, "N", "iterations of a time slice")
      .number("--seed", o.seed, 0, UINT32_MAX, "N", "of lengths and arrivals")
      .number("--threads", o.threads, 1, 256, "N", "of llama.cpp")
      .choice("--clock", o.clock,
              {{"wall", EngineClock::Kind::wall}, {"cpu", EngineClock::Kind::cpu}}, "CLOCK",
              "wall, or cpu: the time that the one thread computes, whatever else runs");
  return line;
}

void check(const ServeOptions& o) {
  if (o.model.empty() || o.json.empty()) throw example::Failure("--model and --json are needed");
  if (!std::filesystem::is_regular_file(o.model))
    throw example::Failure("--model " + o.model + ": there is no such file");
  if (o.clock == EngineClock::Kind::cpu && o.threads != 1)
    throw example::Failure("--clock cpu is of one thread; --threads is " +
                           std::to_string(o.threads));
}

int run(const ServeOptions& options) {
  serve(options);
  return 0;
}

}  // namespace
}  // namespace aqua::llama_example

int main(int argc, char** argv) {
  using namespace aqua::llama_example;
  return aqua::example::run_program<ServeOptions>({"llama_serve", serve_line, run, check}, argc,
                                                  argv);
}
