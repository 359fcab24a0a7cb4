// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

namespace aqua::llama_example {

Options parse_options(std::span<const char* const> arguments) {
  example::OptionTable<Options> table;
  table.path("--model", &Options::model)
      .number("--conversations", &Options::conversations, 1U, 10'000U)
      .number("--slots", &Options::slots, 1U, 64U)
      .number("--prompt-tokens", &Options::prompt_tokens, 8U, 100'000U)
      .number("--output-tokens", &Options::output_tokens, 2U, 100'000U)
      .number("--slice", &Options::slice, 1U, 100'000U)
      .number("--context", &Options::context, 16U, 100'000U)
      .number("--rounds", &Options::rounds, 0U, 1000U)
      .number("--recomputations", &Options::recomputations, 1U, 100U)
      .number("--threads", &Options::threads, 1U, 256U)
      .path("--json", &Options::json)
      .flag("--no-recompute", &Options::recompute, false)
      .flag("--flip-a-byte", &Options::flip)
      .flag("--help", &Options::help)
      .flag("-h", &Options::help);
  example::add_role_options(table, &Options::role);
  return table.parse(arguments);
}

std::string_view usage() {
  return R"(usage: llama_cpp --model FILE.gguf [options]

llama.cpp on the CPU serves more conversations than its KV cache holds. Preempted ones wait in
AquaTensors, in memory lent by another process (an emulated GPU); midway the lender takes all
of it back, and later lends it again. The same conversations are run without preemption, with
llama.cpp's own save to process memory, and with recomputation. Tokens and logits must be equal
to the last bit, except after recomputation. Then resuming is timed at a long context.

  --model FILE             any GGUF model ($AQUA_LLAMA_MODEL); scripts/llama fetches SmolLM2-135M
  --conversations N        (40)
  --slots N                of them that the KV cache holds (6)
  --prompt-tokens N        on average (160)
  --output-tokens N        of each (48); the end-of-text token does not end a conversation
  --slice N                tokens that it may produce while others wait (12)
  --context N              tokens of context at which resuming is timed (2000) …
  --rounds N               … so many times; 0: not at all (15)
  --recomputations N       … against so many recomputations (3)
  --no-recompute           leave out the run that drops and recomputes, which takes longest
  --threads N              of llama.cpp (1; it spins between layers, so more only pay on idle cores)
  --flip-a-byte            damage one parked byte: the run must fail, or its checks are worthless
  --json FILE              write the result
  --coordinator-binary P   the aqua-coordinator program (default: of the same build)
  --help

The exit status is 0 only if every check held.
)";
}

}  // namespace aqua::llama_example
