// SPDX-License-Identifier: Apache-2.0
// The command line of prefill_decode: what people give, and what the main process gives to the
// processes that it starts.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tools/options/command_line.hpp"

namespace aqua::prefill_decode {

enum class EngineKind : std::uint8_t { paged, llama_cpp };
// keeper: mapped where the keeper has them; own: read into memory of the process; file: the file
// itself is mapped, as llama.cpp does, which a GPU cannot.
enum class WeightsIn : std::uint8_t { keeper, own, file };

struct Options {
  // --- for people ---
  std::filesystem::path model{};  // empty: $AQUA_LLAMA_MODEL
  EngineKind engine = EngineKind::paged;
  unsigned conversations = 32;
  unsigned prompt_tokens = 160;  // the mean; they lie between half and three halves of it
  unsigned answer_tokens = 48;
  unsigned blocks = 1024;  // of the pool
  unsigned chunk = 256;    // tokens in an iteration
  unsigned threads = 1;    // of each of two processes; one alone has those of both
  bool kill_decode = false;
  WeightsIn weights = WeightsIn::keeper;
  unsigned weight_rounds = 0;  // with the keeper's weights and with others, in turn
  unsigned long_prompts = 0;   // that arrive while others are answered
  unsigned long_tokens = 2000;
  unsigned long_answer_tokens = 600;  // of the others
  double long_every = 5;              // seconds
  std::filesystem::path json{};
  std::filesystem::path keeper{};  // the daemon's program; empty: looked for

  // --- for the processes that it starts ---
  enum class Kind : std::uint8_t { main, keeper, loader, prefill, decode, both } kind = Kind::main;
  std::filesystem::path directory{};
  pid_t parent = 0;

  // The tokens of a request at most, prompt and answer.
  [[nodiscard]] unsigned most_tokens() const {
    const unsigned short_one = prompt_tokens / 2 + prompt_tokens + answer_tokens;
    if (long_prompts == 0) return short_one;
    return std::max({short_one, long_tokens + kLongAnswer, kShortPrompt + long_answer_tokens});
  }
  static constexpr unsigned kLongAnswer = 4;    // tokens that answer a long prompt
  static constexpr unsigned kShortPrompt = 32;  // of those who are answered meanwhile
};

// What --role calls them, but for main; and --weights.
[[nodiscard]] const std::vector<std::pair<std::string, Options::Kind>>& role_names();
[[nodiscard]] const std::vector<std::pair<std::string, WeightsIn>>& weights_names();
// Throws Failure where options do not go together.
void check_options(const Options& options);
// The line that fills `options`, which must outlive it.
[[nodiscard]] CommandLine options_line(Options& options);

}  // namespace aqua::prefill_decode
