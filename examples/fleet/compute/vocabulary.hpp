// SPDX-License-Identifier: Apache-2.0
// Vocabulary is a GGUF model's language, as llama.cpp reads it: tokens, and the form of its chats.
//
// Threads: any. Errors: the constructor throws Failure.
#pragma once

#include <llama.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "speech/asked.hpp"

namespace aqua::fleet {

class Vocabulary {
 public:
  // Reads no weights.
  explicit Vocabulary(const std::filesystem::path& file);

  // Begins with the token that the model wants first, if it wants one. In a chat, what its form has
  // of control tokens is such; in a prompt the same characters are text. invalid_argument: no token
  // comes of it, or the model knows no chats.
  [[nodiscard]] Result<std::vector<Token>> tokens_of(const Text& text) const;
  [[nodiscard]] bool has(Token token) const;
  // Empty for a control token, and for one that the model does not have.
  [[nodiscard]] std::string bytes_of(Token token) const;
  [[nodiscard]] bool ends(Token token) const;
  [[nodiscard]] const std::vector<Token>& ends() const { return ends_; }

 private:
  struct Free {
    void operator()(llama_model* model) const { llama_model_free(model); }
  };
  // Whether each prompt begins with it.
  [[nodiscard]] bool is_first(llama_token token) const;
  [[nodiscard]] Result<std::string> chat_text(const std::vector<ChatMessage>& chat) const;

  std::unique_ptr<llama_model, Free> model_;
  const llama_vocab* vocabulary_;
  std::vector<Token> ends_{};  // each ends an answer
};

}  // namespace aqua::fleet
