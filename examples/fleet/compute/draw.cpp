// SPDX-License-Identifier: Apache-2.0
#include "compute/draw.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "aqua/migration/sampling.hpp"

namespace aqua::fleet {

Token draw(std::span<const float> logits, const migration::Sampler& sampler, std::uint32_t position,
           std::span<const Token> never) {
  std::vector<double> weights(logits.begin(), logits.end());
  for (const Token token : never) weights[token] = -std::numeric_limits<double>::infinity();
  const auto likeliest = std::ranges::max_element(weights);
  const auto number_of = [&](auto at) { return static_cast<Token>(at - weights.begin()); };
  if (sampler.temperature <= 0) return number_of(likeliest);
  const double most = *likeliest;
  double all = 0;
  for (double& weight : weights) {
    weight = std::exp((weight - most) / static_cast<double>(sampler.temperature));
    all += weight;
  }
  double left = migration::uniform(sampler.seed, position) * all;
  for (auto at = weights.begin(); at != weights.end(); ++at) {
    left -= *at;
    if (left < 0) return number_of(at);
  }
  return number_of(likeliest);  // what rounding left over
}

}  // namespace aqua::fleet
