// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "must.hpp"

namespace aqua::fleet {
namespace {

constexpr const char* kAbout =
    R"(Its KV lies in a pool that engines of one keeper share. The router moves its answers to other
engines of the pool: blocks change owner, and the answer goes on in mid-sentence. By --carrier
segments its KV is in memory of its own, and is copied through the keeper's: to engines of the same
keeper and, over aqua-courier, to those of others.
Without a keeper its KV is in memory of its own, its answers move by tokens, and it can lend that
memory to neighbours while it has no request. Prints its address.)";

void add_serving(CommandLine& line, Options& options) {
  line.text("--name", options.cache.role, "NAME", "of this engine in the pool; no other's")
      .text("--keeper", options.cache.keeper, "SOCKET", "of aqua-keeper; without: no pool")
      .text("--device", options.device, "emu:N", "an emulated GPU")
      .text("--address", options.address, "HOST", "where it listens; whoever gets there may ask")
      .number("--port", options.port, 0, 65535, "N", "0: any that is free")
      .text("--coordinator", options.coordinator, "ADDRESS", "\"none\": without one")
      .group("Moves")
      .choice("--carrier", options.cache.carrier,
              {{"pool", CarriedBy::pool}, {"segments", CarriedBy::segments}}, "pool|segments",
              "how KV gets to another engine")
      .list("--reaches", options.cache.reaches, "ROLE",
            "an engine of another keeper, to which couriers carry; may be given again")
      .text("--server", options.server, "NAME", "of this machine, where a router has several")
      .group("Memory")
      .text("--pool", options.cache.pool, "NAME", "the pool, or what couriers call the segments")
      .number("--pool-blocks", options.cache.pool_blocks, 16, 1 << 20, "N",
              "of the pool, where this engine makes it")
      .number("--blocks", options.blocks, 4, 1 << 20, "N", "that this engine may hold")
      .number("--lend-after", options.lend_after, 1, 3'600'000, "MS",
              "without a request, it lends its memory: without --keeper alone");
}

void add_pace(CommandLine& line, Options& options) {
  line.number("--budget", options.budget_tokens, 2, 65536, "N", "tokens of an iteration")
      .number("--iteration-ms", options.iteration_ms, 0, 10'000, "X",
              "an iteration takes at least so long, as on a GPU")
      .number("--link-kb-per-s", options.link_kb_per_s, 0, 1'000'000'000, "KB",
              "of an emulated device's link to host memory; 0: unpaced")
      .group("For tests")
      .text("--die-at", options.step, "STEP", "kills itself at this step of a move")
      .flag("--stop", options.stop, "stops itself in place of that");
}

}  // namespace

CommandLine toy_line(ToyOptions& options) {
  CommandLine line("", std::string(R"(Usage: fleet_engine --name NAME [--keeper SOCKET] [options]

An engine to stand behind aqua-router: a transformer in integers, behind OpenAI's completions with
token ids. )") + kAbout);
  add_serving(line, options);
  line.number("--block-tokens", options.cache.tokens_per_block, 1, 256, "N", "in a block")
      .group("Model and pace")
      .number("--layers", options.model.layers, 1, 64, "N", "")
      .number("--kv-heads", options.model.kv_heads, 1, 64, "N", "half as many as query heads");
  add_pace(line, options);
  return line;
}

CommandLine llama_line(LlamaOptions& options) {
  CommandLine line(
      "", std::string(R"(Usage: fleet_llama --name NAME --model FILE [--keeper SOCKET] [options]

An engine to stand behind aqua-router: a model of Llama's kind, computed by llama.cpp's library over
paged KV, behind OpenAI's completions with token ids. With a keeper the first engine loads the
weights there, and others map them. )") +
              kAbout);
  add_serving(line, options);
  line.group("Model and pace")
      .text("--model", options.file, "FILE", "GGUF; scripts/llama fetches one")
      .number("--threads", options.threads, 1, 256, "N", "that compute");
  add_pace(line, options);
  return line;
}

void check_options(const Options& options) {
  if (options.cache.role.empty()) throw example::Failure("--name has to be given");
  const bool lends = options.lend_after.count() > 0;
  if (options.cache.keeper.empty() && options.cache.carrier == CarriedBy::segments)
    throw example::Failure("--carrier segments wants a --keeper");
  if (options.cache.carrier == CarriedBy::pool && !options.cache.reaches.empty())
    throw example::Failure("--reaches wants --carrier segments: no pool has two keepers");
  if (lends && !options.cache.keeper.empty())
    throw example::Failure("--lend-after goes without --keeper");
  if (lends && options.coordinator == "none")
    throw example::Failure("--lend-after wants a --coordinator");
  if (options.cache.has_pool() && options.blocks > options.cache.pool_blocks)
    throw example::Failure("--blocks are more than --pool-blocks");
}

}  // namespace aqua::fleet
