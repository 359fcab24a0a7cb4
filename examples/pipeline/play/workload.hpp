// SPDX-License-Identifier: Apache-2.0
// The requests of a run: the same seed, the same requests.
#pragma once

#include <cstdint>
#include <vector>

#include "options.hpp"

namespace aqua::pipeline {

struct Request {
  Word sequence = 0;
  Word seed = 0;  // of its sampler
  std::vector<std::uint32_t> prompt{};
  std::uint32_t answer_tokens = 0;
};

// Prompts lie between half and three halves of the mean, answers between half and all of the most.
[[nodiscard]] std::vector<Request> make_requests(const Options& options);

}  // namespace aqua::pipeline
