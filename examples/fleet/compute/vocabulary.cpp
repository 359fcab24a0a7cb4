// SPDX-License-Identifier: Apache-2.0
#include "compute/vocabulary.hpp"

#include <algorithm>

#include "must.hpp"

namespace aqua::fleet {
namespace {

llama_model* load(const std::filesystem::path& file) {
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  llama_model* const model = llama_model_load_from_file(file.c_str(), params);
  if (model == nullptr) throw example::Failure(file.string() + ": llama.cpp cannot read it");
  return model;
}

Error wrong(const char* what) {
  return Error{Code::invalid_argument, what};
}

}  // namespace

Vocabulary::Vocabulary(const std::filesystem::path& file)
    : model_(load(file)), vocabulary_(llama_model_get_vocab(model_.get())) {
  for (llama_token token = 0; token < llama_vocab_n_tokens(vocabulary_); ++token) {
    if (llama_vocab_is_eog(vocabulary_, token)) ends_.push_back(static_cast<Token>(token));
  }
}

Result<std::string> Vocabulary::chat_text(const std::vector<ChatMessage>& chat) const {
  const char* const form = llama_model_chat_template(model_.get(), nullptr);
  if (form == nullptr) return wrong("this model has no chats");
  std::vector<llama_chat_message> messages;
  std::size_t bytes = 256;
  for (const ChatMessage& message : chat) {
    messages.push_back({message.role.c_str(), message.content.c_str()});
    bytes += 2 * (message.role.size() + message.content.size());
  }
  for (;;) {
    std::string text(bytes, '\0');
    const std::int32_t wanted =
        llama_chat_apply_template(form, messages.data(), messages.size(), /*add_ass=*/true,
                                  text.data(), static_cast<std::int32_t>(text.size()));
    if (wanted < 0) return wrong("llama.cpp does not know the form of this model's chats");
    bytes = static_cast<std::size_t>(wanted);
    if (bytes > text.size()) continue;
    text.resize(bytes);
    return text;
  }
}

Result<std::vector<Token>> Vocabulary::tokens_of(const Text& asked) const {
  std::string text = asked.prompt;
  const bool is_chat = !asked.chat.empty();
  if (is_chat) {
    auto formed = chat_text(asked.chat);
    if (!formed.ok()) return std::move(formed).error();
    text = std::move(formed).value();
  }
  std::vector<llama_token> tokens(text.size() + 8);
  const auto cut = [&] {
    return llama_tokenize(vocabulary_, text.data(), static_cast<std::int32_t>(text.size()),
                          tokens.data(), static_cast<std::int32_t>(tokens.size()),
                          /*add_special=*/true, /*parse_special=*/is_chat);
  };
  std::int32_t count = cut();
  if (count < 0) {  // so many there are: some models have several for a space
    tokens.resize(static_cast<std::size_t>(-count));
    count = cut();
  }
  if (count <= 0) return wrong("no tokens come of the text");
  // Some forms of chats begin with what the model wants first, and others leave it to the cut.
  const bool twice = count > 1 && tokens[0] == tokens[1] && is_first(tokens[0]);
  return std::vector<Token>(tokens.begin() + (twice ? 1 : 0), tokens.begin() + count);
}

bool Vocabulary::has(Token token) const {
  return token < static_cast<Token>(llama_vocab_n_tokens(vocabulary_));
}

bool Vocabulary::is_first(llama_token token) const {
  return llama_vocab_get_add_bos(vocabulary_) && token == llama_vocab_bos(vocabulary_);
}

std::string Vocabulary::bytes_of(Token token) const {
  if (!has(token)) return {};
  std::string bytes(256, '\0');
  const auto piece = [&] {
    return llama_token_to_piece(vocabulary_, static_cast<llama_token>(token), bytes.data(),
                                static_cast<std::int32_t>(bytes.size()), 0, /*special=*/false);
  };
  std::int32_t count = piece();
  if (count < 0) {  // so many it has
    bytes.resize(static_cast<std::size_t>(-count));
    count = piece();
  }
  bytes.resize(static_cast<std::size_t>(std::max(count, 0)));
  return bytes;
}

bool Vocabulary::ends(Token token) const {
  return std::ranges::find(ends_, token) != ends_.end();
}

}  // namespace aqua::fleet
