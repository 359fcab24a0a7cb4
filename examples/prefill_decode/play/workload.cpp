// SPDX-License-Identifier: Apache-2.0
#include "play/workload.hpp"

#include <random>

#include "conversation.hpp"

namespace aqua::prefill_decode {

std::vector<TimedRequest> make_conversations(const llama_example::Model& model,
                                             const Options& options) {
  std::minstd_rand random(42);
  std::vector<TimedRequest> requests;
  for (unsigned i = 0; i < options.conversations; ++i) {
    const auto length =
        static_cast<unsigned>(options.prompt_tokens / 2 + random() % (options.prompt_tokens + 1));
    requests.push_back(
        {0, {i, llama_example::make_prompt(model, length, i), options.answer_tokens}});
  }
  return requests;
}

std::vector<TimedRequest> make_long_prompts(const llama_example::Model& model,
                                            const Options& options, double every) {
  constexpr unsigned kAnswers = 4;
  std::vector<TimedRequest> requests;
  for (unsigned i = 0; i < kAnswers; ++i) {
    requests.push_back({0,
                        {i, llama_example::make_prompt(model, Options::kShortPrompt, i),
                         options.long_answer_tokens}});
  }
  for (unsigned i = 0; i < options.long_prompts; ++i) {
    requests.push_back(
        {(i + 1) * every,
         {kFirstLong + i, llama_example::make_prompt(model, options.long_tokens, 100 + i),
          Options::kLongAnswer}});
  }
  return requests;
}

}  // namespace aqua::prefill_decode
