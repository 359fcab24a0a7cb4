// SPDX-License-Identifier: Apache-2.0
// Serving: llama.cpp opened as llama_serve's options say, and one run of a load on it.
//
// Threads: one. Owns: the engine; model, options and load outlive it. Errors: Failure.
#pragma once

#include <vector>

#include "open_loop.hpp"
#include "serve_options.hpp"

namespace aqua::llama_example {

class Serving {
 public:
  // Computes a little, so that pages and caches are as they will be. Throws Failure where a single
  // answer is slower than the pace that is promised.
  Serving(const Model& model, const ServeOptions& options, const std::vector<Asked>& load);

  struct Run {
    RunLog log;
    PrefixUse prefixes;
    schedule::SchedulerStatus status;  // at the end
  };
  [[nodiscard]] Run run(const SwapSpace& swap);

  [[nodiscard]] BatchEngine& engine() { return engine_; }
  // A state that the engine saves, of some tokens.
  [[nodiscard]] std::vector<std::byte> sample_state();

 private:
  [[nodiscard]] unsigned slots() const { return options_.kv_tokens / kTokensPerBlock; }

  const Model& model_;
  const ServeOptions& options_;
  const std::vector<Asked>& load_;
  BatchEngine engine_;
};

}  // namespace aqua::llama_example
