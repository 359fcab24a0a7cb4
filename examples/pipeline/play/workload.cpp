// SPDX-License-Identifier: Apache-2.0
#include "play/workload.hpp"

#include <algorithm>
#include <random>

namespace aqua::pipeline {

std::vector<Request> make_requests(const Options& options) {
  std::mt19937_64 random(options.seed);
  const auto between = [&](unsigned least, unsigned most) {
    return std::max(1U, least + static_cast<unsigned>(random() % (most - least + 1)));
  };
  std::vector<Request> requests;
  for (unsigned i = 0; i < options.requests; ++i) {
    Request request{.sequence = i, .seed = random()};
    const unsigned half = options.prompt_tokens / 2;
    const unsigned tokens = between(half, half + options.prompt_tokens);
    for (unsigned position = 0; position < tokens; ++position)
      request.prompt.push_back(prompt_token(request.seed, position));
    request.answer_tokens = between(options.answer_tokens / 2, options.answer_tokens);
    requests.push_back(std::move(request));
  }
  return requests;
}

}  // namespace aqua::pipeline
