// SPDX-License-Identifier: Apache-2.0
// What is asked of the engines, the same for the same options and model.
#pragma once

#include <vector>

#include "program_options.hpp"
#include "serve/messages.hpp"

namespace aqua::prefill_decode {

struct TimedRequest {
  double at = 0;  // seconds from the beginning
  Request request{};
};

// All at once.
[[nodiscard]] std::vector<TimedRequest> make_conversations(const llama_example::Model& model,
                                                           const Options& options);
// Answers that go on while long prompts come, one each time that `every` seconds have passed. The
// long prompts have numbers from `kFirstLong` on, and answers of a few tokens.
inline constexpr std::uint64_t kFirstLong = 1'000'000;
[[nodiscard]] std::vector<TimedRequest> make_long_prompts(const llama_example::Model& model,
                                                          const Options& options, double every);

}  // namespace aqua::prefill_decode
