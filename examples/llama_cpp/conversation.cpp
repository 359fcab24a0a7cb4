// SPDX-License-Identifier: Apache-2.0
#include "conversation.hpp"

#include <array>
#include <random>
#include <string>

namespace aqua::llama_example {
namespace {

constexpr std::array kWho{"the baker", "a lighthouse keeper", "my neighbour", "an old sailor",
                          "the river", "a young engineer",    "our teacher",  "the night train"};
constexpr std::array kDoes{"remembers", "carries", "repairs", "looks for",
                           "sells",     "paints",  "borrows", "returns"};
constexpr std::array kWhat{"a box of letters", "the broken clock", "seven lemons", "a map of stars",
                           "the last ticket",  "somebody's coat",  "a blue door",  "some memory"};
constexpr std::array kWhen{"before dawn", "in the rain",    "every winter",        "after the war",
                           "at noon",     "without a word", "for the second time", "by mistake"};

template <std::size_t kSize>
void pick(std::string& text, const std::array<const char*, kSize>& words,
          std::minstd_rand& random) {
  text += words[random() % kSize];
  text += ' ';
}

}  // namespace

std::vector<Token> make_prompt(const Model& model, unsigned tokens, unsigned seed) {
  std::minstd_rand random(seed + 1);
  std::string text = "A story in ";
  text += std::to_string(seed + 3);
  text += " chapters: ";
  std::vector<Token> prompt;
  while (prompt.size() < tokens) {
    for (int sentence = 0; sentence < 8; ++sentence) {
      pick(text, kWho, random);
      pick(text, kDoes, random);
      pick(text, kWhat, random);
      pick(text, kWhen, random);
      text.back() = '.';
      text += ' ';
    }
    prompt = model.tokenize(text);
  }
  prompt.resize(tokens);
  return prompt;
}

std::vector<ChatRequest> make_requests(const Model& model, const Options& options) {
  std::minstd_rand random(42);
  std::vector<ChatRequest> requests;
  for (unsigned i = 0; i < options.conversations; ++i) {
    const auto length =
        static_cast<unsigned>(options.prompt_tokens / 2 + random() % (options.prompt_tokens + 1));
    requests.push_back({i, make_prompt(model, length, i), options.output_tokens});
  }
  return requests;
}

}  // namespace aqua::llama_example
