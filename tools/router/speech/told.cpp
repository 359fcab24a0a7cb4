// SPDX-License-Identifier: Apache-2.0
#include "tools/router/speech/told.hpp"

#include <nlohmann/json.hpp>

namespace aqua::router {
namespace {

using Json = nlohmann::json;

std::string json_text(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A stream has one such event a token: it is put together by hand.
std::string begun_event(const Heading& heading) {
  const bool chat = heading.api == Api::chat;
  std::string event = R"(data: {"id":")";
  event += heading.id;
  event += chat ? R"(","object":"chat.completion.chunk","created":)"
                : R"(","object":"text_completion","created":)";
  event += std::to_string(heading.created);
  event += R"(,"model":)";
  event += json_text(heading.model);
  event += R"(,"choices":[)";
  return event;
}

void append_ids(std::string& event, std::span<const TokenId> ids) {
  event += R"(,"token_ids":[)";
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) event += ',';
    event += std::to_string(ids[i]);
  }
  event += ']';
}

Json usage_of(std::uint64_t prompt, std::uint64_t completion) {
  return {{"prompt_tokens", prompt},
          {"completion_tokens", completion},
          {"total_tokens", prompt + completion}};
}

// As OpenAI's clients tell errors apart.
const char* type_of(Code code) {
  switch (code) {
    case Code::invalid_argument:
    case Code::not_found:
      return "invalid_request_error";
    case Code::permission_denied:
      return "authentication_error";
    case Code::resource_exhausted:
      return "rate_limit_error";
    default:
      return "server_error";
  }
}

}  // namespace

std::string opening_event(const Heading& heading) {
  if (heading.api == Api::completions) return {};
  return begun_event(heading) +
         R"({"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]})"
         "\n\n";
}

std::string piece_event(const Heading& heading, std::string_view text, std::span<const TokenId> ids,
                        std::string_view finish) {
  std::string event = begun_event(heading);
  if (heading.api == Api::chat) {
    event += R"({"index":0,"delta":{"content":)" + json_text(text) + "}";
  } else {
    event += R"({"index":0,"text":)" + json_text(text) + R"(,"logprobs":null)";
  }
  if (heading.tell_ids) append_ids(event, ids);
  event += finish.empty() ? std::string(R"(,"finish_reason":null)")
                          : R"(,"finish_reason":)" + json_text(finish);
  event += "}]}\n\n";
  return event;
}

std::string usage_event(const Heading& heading, std::uint64_t prompt_tokens,
                        std::uint64_t completion_tokens) {
  return begun_event(heading) + R"(],"usage":)" +
         usage_of(prompt_tokens, completion_tokens).dump() + "}\n\n";
}

std::string error_event(const Error& error) {
  return "data: " + error_body(error) + "\n\n";
}

std::string whole_answer(const Heading& heading, const WholeAnswer& answer) {
  const bool chat = heading.api == Api::chat;
  Json choice{{"index", 0}, {"finish_reason", answer.finish}};
  if (chat) {
    choice["message"] = {{"role", "assistant"}, {"content", answer.text}};
  } else {
    choice["text"] = answer.text;
    choice["logprobs"] = nullptr;
  }
  if (heading.tell_ids) choice["token_ids"] = answer.ids;
  return Json{{"id", heading.id},
              {"object", chat ? "chat.completion" : "text_completion"},
              {"created", heading.created},
              {"model", heading.model},
              {"choices", Json::array({std::move(choice)})},
              {"usage", usage_of(answer.prompt_tokens, answer.completion_tokens)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string error_body(const Error& error) {
  return Json{{"error",
               {{"message", error.message},
                {"type", type_of(error.code)},
                {"code", to_string(error.code)}}}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string model_list(std::string_view model, std::uint64_t max_tokens) {
  Json one{{"id", model}, {"object", "model"}, {"owned_by", "aqua-router"}};
  if (max_tokens > 0) one["max_model_len"] = max_tokens;
  return Json{{"object", "list"}, {"data", Json::array({std::move(one)})}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace aqua::router
