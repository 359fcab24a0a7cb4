// SPDX-License-Identifier: Apache-2.0
// Prefill: one prompt after another. llama.cpp computes all layers in one graph, so all are
// streamed behind the last one.
#include <unistd.h>

#include <chrono>
#include <utility>

#include "disaggregate/messages.hpp"
#include "disaggregate/roles.hpp"
#include "disaggregate/streamed_cache.hpp"
#include "json_lines.hpp"
#include "must.hpp"

namespace aqua::llama_example {
namespace {

using example::must;

void stream_out(StreamedCache& cache, Engine& engine, const Prompt& prompt, bool flip) {
  const BlockList blocks = cache.blocks(0);
  auto out = must(
      cache.streamer().stream_out({.sequence = prompt.sequence,
                                   .attempt = prompt.attempt,
                                   .to = "decode",
                                   .blocks = blocks,
                                   .tokens = static_cast<std::uint32_t>(prompt.tokens.size())}),
      "stream_out");
  cache.await([&] { return must(out.ready(), "room"); });
  const Prediction first = engine.decode(0, 0, prompt.tokens);
  cache.put(0, blocks);
  engine.drop(0);
  if (flip) cache.flip_a_byte(blocks);
  for (unsigned layer = 0; layer < cache.layers(); ++layer)
    must(out.layer(layer, cache.stream()), "layer");
  const Pending pending{.token = first.token,
                        .logits_hash = first.logits_hash,
                        .output_tokens = prompt.output_tokens};
  must(out.finish(nlohmann::json(pending).dump(), cache.stream()), "finish");
  cache.await([&] { return must(out.copied(), "copies"); });
  cache.await([&] { return must(out.kept(), "kept"); });
}

}  // namespace

void run_prefill(const Options& options, const Model& model) {
  Engine engine(model, 1, options.most_tokens(), options.threads);
  StreamedCache cache(options, model, engine, 1);
  example::LineReader prompts(STDIN_FILENO);
  (void)example::write_line(STDOUT_FILENO, {{"ready", true}});
  bool flip = options.flip;
  while (!prompts.ended()) {
    for (const std::string& line : prompts.read(std::chrono::hours(1))) {
      const auto prompt = example::parse_line(line).get<Prompt>();
      stream_out(cache, engine, prompt, std::exchange(flip, false));
      (void)example::write_line(STDOUT_FILENO, Kept{prompt.sequence});
    }
  }
}

}  // namespace aqua::llama_example
