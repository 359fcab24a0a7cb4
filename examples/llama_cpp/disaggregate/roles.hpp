// SPDX-License-Identifier: Apache-2.0
// What the processes do that serve in prefill's and decode's place (docs/engine/llama_cpp.md), or
// keep what is on its way between them.
#pragma once

#include "engine.hpp"
#include "options.hpp"

namespace aqua::llama_example {

using Part = Disaggregate::Part;

// Runs a part other than none. Returns the exit status, or throws Failure.
[[nodiscard]] int run_part(const Options& options);

// Prompts come by standard input, and go to decode. Until the input ends.
void run_prefill(const Options& options, const Model& model);
// Answers what comes from prefill, a token of each in turn. Until the input ends, and all is
// answered that has come.
void run_decode(const Options& options, const Model& model);

}  // namespace aqua::llama_example
