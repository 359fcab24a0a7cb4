// SPDX-License-Identifier: Apache-2.0
#include "program_options.hpp"

#include "must.hpp"

namespace aqua::prefill_decode {
namespace {

constexpr const char* kAbout = R"(Usage: prefill_decode --model FILE.gguf [options]

Prefill and decode as two processes over one KV cache: a pool that aqua-keeper has. A Llama model is
computed by ggml with weights and KV where they lie; prefill computes a prompt and hands its blocks
over, decode goes on with them, and no byte of KV is copied. The same conversations are then served
by one process. Tokens and logits must be equal to the last bit.

With --engine llama.cpp it is llama.cpp, whose KV cache is its own: a sequence's state goes through
the pool's blocks.

With --long-prompts it is then measured how long prompts delay the tokens of others, in two
processes and in one.

The exit status is 0 only if every check held.)";

}  // namespace

CommandLine options_line(Options& options) {
  CommandLine line("", kAbout);
  line.text(
          "--model", options.model, "FILE",
          "a GGUF of Llama's kind; default: $AQUA_LLAMA_MODEL. scripts/llama fetches SmolLM2-135M")
      .choice("--engine", options.engine,
              {{"paged", EngineKind::paged}, {"llama.cpp", EngineKind::llama_cpp}}, "NAME",
              "paged: KV in the pool; llama.cpp: its own KV, copied")
      .number("--conversations", options.conversations, 1, 10'000, "N", "in all")
      .number("--prompt-tokens", options.prompt_tokens, 8, 100'000, "N", "on average")
      .number("--answer-tokens", options.answer_tokens, 1, 100'000, "N",
              "of each; the end-of-text token does not end a conversation")
      .number("--blocks", options.blocks, 1, 1 << 20, "N", "of the pool, 16 tokens each")
      .number("--chunk", options.chunk, 16, 65'536, "N", "tokens in one iteration at most")
      .number("--threads", options.threads, 1, 128, "N",
              "of prefill and of decode; one process alone has twice as many")
      .flag("--kill-decode", options.kill_decode,
            "kill decode once half of the answers are there: a successor gives the others")
      .choice("--weights", options.weights, weights_names(), "WHERE",
              "the keeper's; own: each process reads the file into memory of its own; file: each "
              "maps the file")
      .number("--weight-rounds", options.weight_rounds, 0, 1000, "N",
              "of one process with weights of each kind in turn, to compare: tokens/s, and the "
              "time from its start to a first token")
      .number("--long-prompts", options.long_prompts, 0, 1000, "N",
              "prompts that arrive one after another while others are answered; 0: none ...")
      .number("--long-tokens", options.long_tokens, 16, 100'000, "N", "... of so many tokens ...")
      .number("--long-every", options.long_every, 0.1, 10'000, "SECONDS", "... so far apart")
      .number("--long-answer-tokens", options.long_answer_tokens, 2, 100'000, "N",
              "of each of the four answers meanwhile")
      .text("--json", options.json, "FILE", "write the result")
      .text("--keeper-binary", options.keeper, "PROGRAM",
            "the aqua-keeper program; default: of the same build");
  line.group("")  // not in the help
      .choice("--role", options.kind, role_names(), "ROLE", "")
      .text("--directory", options.directory, "DIR", "")
      .number("--parent", options.parent, 1, INT32_MAX, "PID", "");
  return line;
}

const std::vector<std::pair<std::string, Options::Kind>>& role_names() {
  using Kind = Options::Kind;
  static const std::vector<std::pair<std::string, Kind>> names{{"keeper", Kind::keeper},
                                                               {"loader", Kind::loader},
                                                               {"prefill", Kind::prefill},
                                                               {"decode", Kind::decode},
                                                               {"both", Kind::both}};
  return names;
}

const std::vector<std::pair<std::string, WeightsIn>>& weights_names() {
  static const std::vector<std::pair<std::string, WeightsIn>> names{
      {"keeper", WeightsIn::keeper}, {"own", WeightsIn::own}, {"file", WeightsIn::file}};
  return names;
}

void check_options(const Options& options) {
  if (options.engine == EngineKind::llama_cpp && options.weights == WeightsIn::own) {
    throw example::Failure("llama.cpp has the keeper's weights or maps the file: no --weights own");
  }
  if (options.weight_rounds == 0) return;
  if (options.engine != EngineKind::paged || options.weights != WeightsIn::keeper) {
    throw example::Failure(
        "--weight-rounds compares the keeper's weights with others: it wants --engine paged, and "
        "no "
        "--weights");
  }
}

}  // namespace aqua::prefill_decode
