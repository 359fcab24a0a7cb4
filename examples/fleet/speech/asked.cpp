// SPDX-License-Identifier: Apache-2.0
#include "speech/asked.hpp"

#include <nlohmann/json.hpp>

namespace aqua::fleet {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostTokens = 1'000'000;
constexpr std::size_t kMostName = 256;

Error wrong(const std::string& what) {
  return Error{Code::invalid_argument, what};
}

// `into` stays as it is where nothing is given. False: it is no whole number up to `most`.
bool read_number(const Json& body, const char* name, std::uint64_t most, auto& into) {
  const auto found = body.find(name);
  if (found == body.end() || found->is_null()) return true;
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() > most) return false;
  into = static_cast<std::remove_reference_t<decltype(into)>>(found->get<std::uint64_t>());
  return true;
}

bool is_true(const Json& body, const char* name) {
  const auto found = body.find(name);
  return found != body.end() && *found == true;
}

Result<void> read_prompt(const Json& prompt, std::vector<Token>& into) {
  if (prompt.is_string()) {
    into = tokens_of(prompt.get_ref<const std::string&>());
  } else if (prompt.is_array()) {
    for (const Json& id : prompt) {
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() > UINT32_MAX)
        return wrong("prompt holds what is no token id");
      into.push_back(static_cast<Token>(id.get<std::uint64_t>()));
    }
  }
  if (into.empty() || into.size() > kMostTokens)
    return wrong("prompt is no text and no list of token ids, or it is empty or too long");
  return {};
}

Result<void> read_name(const Json& aqua, Asked& asked) {
  if (!aqua.is_object()) return wrong("aqua is no object");
  const auto request = aqua.find("request");
  if (request == aqua.end() || !request->is_string()) return wrong("aqua.request is no text");
  asked.name.request = request->get<std::string>();
  if (asked.name.request.empty() || asked.name.request.size() > kMostName)
    return wrong("aqua.request is empty or too long");
  if (!read_number(aqua, "turn", UINT64_MAX, asked.name.turn) || asked.name.turn == 0)
    return wrong("aqua.turn is no whole number from 1 on");
  if (!read_number(aqua, "answered", asked.prompt.size() - 1, asked.answered))
    return wrong("aqua.answered is no number below the prompt's tokens");
  asked.receive = is_true(aqua, "receive");
  if (asked.receive && !asked.stream) return wrong("aqua.receive goes with stream");
  return {};
}

}  // namespace

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
  return tokens;
}

Result<Asked> parse_asked(std::string_view text) {
  const Json body = Json::parse(text, nullptr, false);
  if (!body.is_object()) return wrong("the body is no JSON object");
  Asked asked;
  const auto prompt = body.find("prompt");
  if (prompt == body.end()) return wrong("prompt is missing");
  if (auto read = read_prompt(*prompt, asked.prompt); !read.ok()) return std::move(read).error();
  if (!read_number(body, "max_tokens", kMostTokens, asked.max_tokens) || asked.max_tokens == 0)
    return wrong("max_tokens is no whole number from 1 to 1000000");
  if (!read_number(body, "seed", UINT64_MAX, asked.seed)) return wrong("seed is no whole number");
  asked.stream = is_true(body, "stream");
  if (const auto aqua = body.find("aqua"); aqua != body.end()) {
    if (auto read = read_name(*aqua, asked); !read.ok()) return std::move(read).error();
  }
  return asked;
}

Result<std::string> parse_tokenize(std::string_view text) {
  const Json body = Json::parse(text, nullptr, false);
  if (!body.is_object() || !body.contains("prompt") || !body.at("prompt").is_string())
    return wrong("prompt is no text");
  return body.at("prompt").get<std::string>();
}

}  // namespace aqua::fleet
