// SPDX-License-Identifier: Apache-2.0
#include "load.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "conversation.hpp"

namespace aqua::llama_example {

std::vector<Asked> make_load(const Model& model, const ServeOptions& options) {
  constexpr unsigned kSeeds = 100'000;  // of prompts, for one of the load
  std::mt19937_64 random(options.seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11U) * 0x1p-53; };
  const auto around = [&](unsigned mean) {
    return std::max(1U, static_cast<unsigned>(mean / 2.0 + uniform() * mean));
  };
  std::vector<std::vector<Token>> shared(1);
  if (options.prefix_cache && options.shared > 0) {
    shared.clear();
    for (unsigned group = 0; group < options.groups; ++group) {
      shared.push_back(make_prompt(model, options.shared, options.seed * kSeeds - 1 - group));
    }
  }
  std::vector<Asked> load;
  double arrival = 0;
  for (unsigned i = 0; i < options.requests; ++i) {
    std::vector<Token> prompt = shared[i % shared.size()];
    const auto own = make_prompt(model, around(options.prompt), options.seed * kSeeds + i);
    prompt.insert(prompt.end(), own.begin(), own.end());
    load.push_back({arrival, std::move(prompt), around(options.output)});
    arrival -= std::log1p(-uniform()) / options.rate;
  }
  return load;
}

}  // namespace aqua::llama_example
