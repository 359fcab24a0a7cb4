// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "must.hpp"

namespace aqua::llama_example {
namespace {

constexpr const char* kAbout = R"(Usage: llama_cpp --model FILE.gguf [options]

llama.cpp on the CPU serves more conversations than its KV cache holds. Preempted ones wait in
AquaTensors, in memory lent by another process (an emulated GPU); midway the lender takes all
of it back, and later lends it again. The same conversations are run without preemption, with
llama.cpp's own save to process memory, and with recomputation. Tokens and logits must be equal
to the last bit, except after recomputation. Then resuming is timed at a long context.

The exit status is 0 only if every check held.)";

}  // namespace

void check_options(const Options& options) {
  const Disaggregate& apart = options.disaggregate;
  if (apart.kills > 0 && !apart.wanted)
    throw example::Failure("--kills kills what --disaggregate starts");
  if (apart.wanted && options.swap_layers)
    throw example::Failure("--disaggregate and --swap-layers are two runs");
}

CommandLine options_line(Options& options) {
  CommandLine line("", kAbout);
  line.text("--model", options.model, "FILE",
            "any GGUF model; default: $AQUA_LLAMA_MODEL. scripts/llama fetches SmolLM2-135M")
      .number("--conversations", options.conversations, 1, 10'000, "N", "in all")
      .number("--slots", options.slots, 1, 64, "N", "of them that the KV cache holds")
      .number("--prompt-tokens", options.prompt_tokens, 8, 100'000, "N", "on average")
      .number("--output-tokens", options.output_tokens, 2, 100'000, "N",
              "of each; the end-of-text token does not end a conversation")
      .number("--slice", options.slice, 1, 100'000, "N",
              "tokens that it may produce while others wait")
      .number("--context", options.context, 16, 100'000, "N",
              "tokens of context at which resuming is timed ...")
      .number("--rounds", options.rounds, 0, 1000, "N", "... so many times; 0: not at all")
      .number("--recomputations", options.recomputations, 1, 100, "N",
              "... against so many recomputations")
      .flag("--no-recompute", options.recompute,
            "leave out the run that drops and recomputes, which takes longest", false)
      .number("--threads", options.threads, 1, 256, "N",
              "of llama.cpp; it spins between layers, so more only pay on idle cores")
      .flag("--swap-layers", options.swap_layers,
            "also run with a KV cache in half the memory: the other half's layers are in lent "
            "memory and come in before their turn")
      .flag("--flip-a-byte", options.flip,
            "damage one parked byte: the run must fail, or its checks are worthless")
      .flag("--disaggregate", options.disaggregate.wanted,
            "in place of all other comparisons with the unpreempted run: prefill and decode in two "
            "processes, the KV of each prompt streamed from one to the other")
      .number("--kills", options.disaggregate.kills, 0, 1000, "N",
              "kill prefill and decode in turn, in all so many times")
      .text("--keeper-binary", options.disaggregate.keeper, "PROGRAM",
            "the aqua-keeper program; default: of the same build")
      .text("--json", options.json, "FILE", "write the result");
  example::add_role_options(line, options.role);
  using Role = Disaggregate::Part;
  line.choice("--part", options.disaggregate.part,
              {{"keeper", Role::keeper}, {"prefill", Role::prefill}, {"decode", Role::decode}},
              "PART", "");
  return line;
}

}  // namespace aqua::llama_example
