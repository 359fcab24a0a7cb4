// SPDX-License-Identifier: Apache-2.0
#include "play/weights_compared.hpp"

#include <cstdio>
#include <map>
#include <memory>

#include "conversation.hpp"
#include "play/pool_memory.hpp"
#include "summary.hpp"

namespace aqua::prefill_decode {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kEngines = 4;
constexpr unsigned kBlocksEach = 128;  // of the pool, for each of them

}  // namespace

Options WeightsCompared::with(WeightsIn weights) const {
  Options options = options_;
  options.weights = weights;
  return options;
}

std::vector<TimedRequest> WeightsCompared::one_short_prompt() const {
  return {{0, {0, llama_example::make_prompt(model_, Options::kShortPrompt, 0), 1}}};
}

Outcomes WeightsCompared::serve(const std::vector<TimedRequest>& requests, const Options& options) {
  Fleet fleet(false, options, file_, directory_, stop_);
  Outcomes outcomes = fleet.serve(requests);
  fleet.finish();
  return outcomes;
}

Json WeightsCompared::run() {
  Json report = compare_answers();
  report.update(compare_first_tokens());
  report.update(compare_memory());
  return report;
}

// One engine with the keeper's weights and with its own, in turn.
Json WeightsCompared::compare_answers() {
  const auto requests = make_conversations(model_, options_);
  std::vector<double> ratios;
  std::size_t equal = 0;
  for (unsigned round = 0; round < options_.weight_rounds; ++round) {
    const Outcomes shared = serve(requests, with(WeightsIn::keeper));
    const Outcomes own = serve(requests, with(WeightsIn::own));
    ratios.push_back(tokens_per_second(shared) / tokens_per_second(own));
    for (const auto& [id, outcome] : shared) {
      equal += outcome.answer->logits_hash == own.at(id).answer->logits_hash ? 1U : 0U;
    }
  }
  const std::size_t all = requests.size() * options_.weight_rounds;
  equal_ = equal == all;
  std::printf(
      "weights of the keeper: %zu of %zu answers as with private ones, %.3f times their tokens/s\n",
      equal, all, report::median(ratios));
  return {{"answered", all},
          {"equal_logits", equal},
          {"tokens_per_second_over_private", example::summary(ratios)}};
}

Json WeightsCompared::compare_first_tokens() {
  std::map<WeightsIn, std::vector<double>> seconds;
  for (unsigned round = 0; round < options_.weight_rounds; ++round) {
    for (const auto& [name, weights] : weights_names()) {
      const double start = steady_seconds();
      const Outcomes outcomes = serve(one_short_prompt(), with(weights));
      seconds[weights].push_back(outcomes.begin()->second.first - start);
    }
  }
  Json report;
  for (const auto& [name, weights] : weights_names()) {
    report["seconds_to_first_token"][name] = example::summary(seconds.at(weights));
  }
  const auto over = [&](WeightsIn weights) {
    return example::median_ratio(seconds.at(WeightsIn::keeper), seconds.at(weights));
  };
  report["first_token_over_own"] = over(WeightsIn::own);
  report["first_token_over_file"] = over(WeightsIn::file);
  std::printf(
      "first token of the next engine: %.3f s, %.2f of one that reads the file, %.2f of one "
      "that maps it\n",
      report::median(seconds.at(WeightsIn::keeper)), over(WeightsIn::own), over(WeightsIn::file));
  return report;
}

double WeightsCompared::memory_of(WeightsIn weights) {
  Options options = with(weights);
  options.blocks = kEngines * kBlocksEach;
  std::vector<std::unique_ptr<Fleet>> engines;
  for (std::size_t i = 0; i < kEngines; ++i) {
    engines.push_back(std::make_unique<Fleet>(false, options, file_, directory_, stop_));
    (void)engines.back()->serve(one_short_prompt());
  }
  std::uint64_t bytes = 0;
  for (const auto& engine : engines) {
    for (const pid_t pid : engine->pids()) bytes += example::proportional_bytes(pid);
  }
  if (weights == WeightsIn::file) bytes += own_part_of(file_);  // it has it open, for its tokens
  for (const auto& engine : engines) engine->finish();
  return static_cast<double>(bytes);
}

Json WeightsCompared::compare_memory() {
  const auto weights_bytes = static_cast<double>(std::filesystem::file_size(file_));
  std::map<std::string, double> bytes;
  for (const auto& [name, weights] : weights_names()) bytes[name] = memory_of(weights);
  const double saved = (bytes.at("own") - bytes.at("keeper")) / weights_bytes;
  const double over_file = bytes.at("keeper") / bytes.at("file");
  std::printf(
      "%zu engines: %.2f sizes of the weights less than with weights of their own, %.3f of "
      "the memory with the mapped file\n",
      kEngines, saved, over_file);
  return {{"engines", kEngines},
          {"weights_bytes", weights_bytes},
          {"bytes_of_engines", bytes},
          {"weight_sizes_saved", saved},
          {"memory_over_file", over_file}};
}

}  // namespace aqua::prefill_decode
