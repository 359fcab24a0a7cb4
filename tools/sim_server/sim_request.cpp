// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_server/sim_request.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/concat.hpp"
#include "base/shallow_json.hpp"
#include "base/try.hpp"

namespace aqua::tool {
namespace {

using Json = nlohmann::json;

Error wrong(std::string_view what) {
  return Error{Code::invalid_argument, std::string(what)};
}

Result<std::vector<TokenId>> prompt_of(const Json& prompt) {
  if (prompt.is_string()) return ids_of(prompt.get_ref<const std::string&>());
  if (!prompt.is_array() || prompt.empty()) return wrong("prompt is no text and no list of ids");
  std::vector<TokenId> ids;
  ids.reserve(prompt.size());
  for (const Json& id : prompt) {
    if (!id.is_number_unsigned()) return wrong("prompt holds what is no id");
    ids.push_back(static_cast<TokenId>(id.get<std::uint64_t>()));
  }
  return ids;
}

Result<std::vector<TokenId>> template_of(const Json& messages) {
  if (!messages.is_array() || messages.empty()) return wrong("messages is no list of messages");
  std::string text;
  for (const Json& message : messages) {
    if (!message.is_object() || !message.value("content", Json()).is_string())
      return wrong("a message without content");
    text += concat("<", message.value("role", Json("user")).dump(), ">",
                   message.at("content").get_ref<const std::string&>(), "\n");
  }
  return ids_of(text + "<assistant>");
}

std::uint64_t number_or(const Json& body, const char* name, std::uint64_t otherwise) {
  const auto found = body.find(name);
  return found != body.end() && found->is_number_unsigned() ? found->get<std::uint64_t>()
                                                            : otherwise;
}

bool flag(const Json& body, const char* name) {
  const auto found = body.find(name);
  return found != body.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace

Result<SimRequest> parse_sim_request(std::string_view text) {
  const Json body = parse_shallow(text);
  if (!body.is_object()) return wrong("the body is no object");
  SimRequest request;
  request.chat = body.contains("messages");
  if (!request.chat && !body.contains("prompt")) return wrong("prompt is missing");
  AQUA_ASSIGN(request.prompt,
              request.chat ? template_of(body.at("messages")) : prompt_of(body.at("prompt")));
  request.max_tokens = static_cast<std::uint32_t>(
      number_or(body, "max_tokens", number_or(body, "max_completion_tokens", 16)));
  if (request.max_tokens == 0) return wrong("max_tokens is 0");
  request.min_tokens = static_cast<std::uint32_t>(number_or(body, "min_tokens", 0));
  request.seed = number_or(body, "seed", 0);
  request.ignore_eos = flag(body, "ignore_eos");
  request.stream = flag(body, "stream");
  request.tell_ids = flag(body, "return_token_ids");
  const auto options = body.find("stream_options");
  request.include_usage =
      options != body.end() && options->is_object() && flag(*options, "include_usage");
  return request;
}

}  // namespace aqua::tool
