// SPDX-License-Identifier: Apache-2.0
// WeightsCompared serves the same with weights that the keeper has and with those that an engine
// has read into memory of its own: answers and tokens/s. With these, and with weights that lie in a
// mapped file: the time from an engine's start to its first token, and the memory of four engines.
//
// Threads: one. Errors: Failure.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "play/fleet.hpp"

namespace aqua::prefill_decode {

class WeightsCompared {
 public:
  // All must outlive it. The file is in the page cache, and the keeper, whose directory it is, has
  // the weights: what is measured is the next engine, not the first.
  WeightsCompared(const Options& options, const llama_example::Model& model,
                  const std::filesystem::path& file, const std::filesystem::path& directory,
                  const example::StopSignals& stop)
      : options_(options), model_(model), file_(file), directory_(directory), stop_(stop) {}

  // Says what was found, and returns it.
  [[nodiscard]] nlohmann::json run();
  // Whether all answers with the keeper's weights were those with an engine's own, logits and all.
  [[nodiscard]] bool equal() const { return equal_; }

 private:
  [[nodiscard]] Options with(WeightsIn weights) const;
  [[nodiscard]] std::vector<TimedRequest> one_short_prompt() const;
  [[nodiscard]] Outcomes serve(const std::vector<TimedRequest>& requests, const Options& options);
  nlohmann::json compare_answers();
  nlohmann::json compare_first_tokens();
  nlohmann::json compare_memory();
  // Bytes that so many engines have mapped together, each page counted once; all have answered.
  double memory_of(WeightsIn weights);

  const Options& options_;
  const llama_example::Model& model_;
  const std::filesystem::path &file_, &directory_;
  const example::StopSignals& stop_;
  bool equal_ = true;
};

}  // namespace aqua::prefill_decode
