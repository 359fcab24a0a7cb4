// SPDX-License-Identifier: Apache-2.0
#include "serve_options.hpp"

#include <filesystem>

#include "must.hpp"
#include "prefix/paged_cache.hpp"

namespace aqua::llama_example {

using example::Failure;

CommandLine serve_line(ServeOptions& o) {
  CommandLine line("", R"(Usage: llama_serve --model FILE --json FILE [options]
       llama_serve --model FILE --prefix-cache [options]

Serves made-up prompts with llama.cpp as they come, and writes down what it took.)");
  line.text("--model", o.model, "FILE", "GGUF file")
      .text("--json", o.json, "FILE", "the record; with --prefix-cache the comparison")
      .text("--metrics", o.metrics, "FILE",
            "the scheduler's status at the end, as Prometheus reads it; not with --prefix-cache")
      .text("--policy", o.policy, "NAME", "auto, fcfs, vtc, las or cfs")
      .number("--requests", o.requests, 1, 100'000, "N", "that come in all")
      .number("--rate", o.rate, 1e-3, 1e6, "R", "requests a second, Poisson")
      .number("--prompt-tokens", o.prompt, 2, 10'000, "N", "mean; of each request's own")
      .number("--output-tokens", o.output, 2, 10'000, "N", "mean")
      .number("--kv-tokens", o.kv_tokens, 256, 4096, "N", "of the KV cache")
      .number("--chunk", o.chunk, 8, 2048, "N", "tokens in a batch at most")
      .number("--slice", o.slice, 1, 100'000, "N", "iterations of a time slice")
      .number("--seconds-per-token", o.seconds_per_token, 1e-6, 1e6, "S",
              "the pace that readers are promised, which auto schedules for")
      .number("--seed", o.seed, 0, UINT32_MAX, "N", "of lengths and arrivals")
      .number("--threads", o.threads, 1, 256, "N", "of llama.cpp")
      .choice("--clock", o.clock,
              {{"wall", EngineClock::Kind::wall}, {"cpu", EngineClock::Kind::cpu}}, "CLOCK",
              "wall, or cpu: the time that the one thread computes, whatever else runs");
  line.group("Prompts that begin alike")
      .flag("--prefix-cache", o.prefix_cache,
            "serve the load twice, without a prefix cache and with one, and compare; preempted "
            "sequences and prefixes wait in memory that another process lends")
      .number("--shared-tokens", o.shared, 0, 10'000, "N", "that prompts of a group begin with")
      .number("--groups", o.groups, 1, 1000, "N", "which requests are of in turn")
      .number("--prefix-block", o.block, kTokensPerBlock, 4096, "N",
              "tokens in a cached block; a multiple of 16")
      .number("--swap-mib", o.swap_mib, 1, 65'536, "N",
              "memory for both, lent and as much behind it on the host")
      .flag("--lose-hits", o.lose_hits,
            "every other hit is gone when it is to be fetched: it must be computed");
  example::add_role_options(line, o.role);
  return line;
}

void check(const ServeOptions& o) {
  if (o.role.kind != example::NeighbourRole::Kind::none) return;
  if (o.model.empty()) throw Failure("--model is needed");
  if (o.json.empty() && !o.prefix_cache)
    throw Failure("--json is needed, unless with --prefix-cache");
  if (!std::filesystem::is_regular_file(o.model))
    throw Failure("--model " + o.model + ": there is no such file");
  if (o.clock == EngineClock::Kind::cpu && o.threads != 1)
    throw Failure("--clock cpu is of one thread; --threads is " + std::to_string(o.threads));
  if (!o.prefix_cache) return;
  if (!o.metrics.empty())
    throw Failure("--metrics is of one run; --prefix-cache serves the load twice");
  if (o.clock == EngineClock::Kind::cpu)
    throw Failure("--clock cpu sees no copies, which other threads make; --prefix-cache has some");
  if (o.block % kTokensPerBlock != 0)
    throw Failure("--prefix-block " + std::to_string(o.block) + " is no multiple of 16");
}

}  // namespace aqua::llama_example
