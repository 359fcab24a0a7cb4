// SPDX-License-Identifier: Apache-2.0
// The command line of llama_cpp: what people give, and what the main process gives to the
// processes that it starts.
#pragma once

#include <cstdint>
#include <filesystem>

#include "neighbour_role.hpp"

namespace aqua::llama_example {

// Prefill and decode as processes of their own, in place of all other comparisons.
struct Disaggregate {
  bool wanted = false;
  unsigned kills = 0;              // of prefill and decode in turn, in all
  std::filesystem::path keeper{};  // the daemon's program; empty: looked for
  enum class Part : std::uint8_t { none, keeper, prefill, decode };
  Part part = Part::none;  // none: it is what people start
};

struct Options {
  // --- for people ---
  std::filesystem::path model{};  // empty: $AQUA_LLAMA_MODEL
  unsigned conversations = 40;
  unsigned slots = 6;            // sequences that the KV cache holds
  unsigned prompt_tokens = 160;  // the mean; they lie between half and three halves of it
  unsigned output_tokens = 48;   // of each conversation
  unsigned slice = 12;           // tokens between two preemptions
  unsigned context = 2000;       // tokens at which resuming is timed
  unsigned rounds = 15;          // of that; 0: leave it out
  unsigned recomputations = 3;   // of that
  unsigned threads = 1;          // of llama.cpp
  bool recompute = true;         // also the run that drops and recomputes
  bool swap_layers = false;      // also the run with half of the layers' KV away
  bool flip = false;             // damage one byte, to see that it is noticed
  Disaggregate disaggregate{};
  std::filesystem::path json{};
  example::NeighbourRole role{};

  // The tokens of a conversation at most, prompt and answer.
  [[nodiscard]] unsigned most_tokens() const { return prompt_tokens * 3 / 2 + output_tokens + 1; }
};

// Throws Failure where options do not go together.
void check_options(const Options& options);
// The line that fills `options`, which must outlive it.
[[nodiscard]] CommandLine options_line(Options& options);

}  // namespace aqua::llama_example
