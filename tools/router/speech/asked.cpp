// SPDX-License-Identifier: Apache-2.0
#include "tools/router/speech/asked.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/concat.hpp"
#include "base/shallow_json.hpp"
#include "base/try.hpp"
#include "tools/report/text.hpp"

namespace aqua::router {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostTokens = 1'000'000'000;
constexpr std::uint64_t kDefaultMaxTokens = 16;  // of completions, as OpenAI has it
constexpr std::size_t kMostStops = 16;
constexpr std::size_t kMostStopBytes = 1024;

// What an engine that goes on must be told again, and means the same there.
constexpr std::array<std::string_view, 14> kCarried{
    "temperature",    "top_p",         "top_k",      "min_p",
    "seed",           "logit_bias",    "ignore_eos", "repetition_penalty",
    "stop_token_ids", "priority",      "typical_p",  "skip_special_tokens",
    "top_n_sigma",    "repeat_penalty"};
// What the router reads itself, or nobody needs.
constexpr std::array<std::string_view, 18> kRead{"model",
                                                 "prompt",
                                                 "messages",
                                                 "stream",
                                                 "stream_options",
                                                 "max_tokens",
                                                 "min_tokens",
                                                 "stop",
                                                 "return_token_ids",
                                                 "max_completion_tokens",
                                                 "user",
                                                 "metadata",
                                                 "store",
                                                 "service_tier",
                                                 "cache_prompt",
                                                 "return_tokens",
                                                 "timings_per_token",
                                                 "add_generation_prompt"};
// What may be said as long as it asks for nothing.
constexpr std::array<std::string_view, 10> kNeutral{"n",
                                                    "best_of",
                                                    "echo",
                                                    "logprobs",
                                                    "top_logprobs",
                                                    "tools",
                                                    "presence_penalty",
                                                    "frequency_penalty",
                                                    "suffix",
                                                    "response_format"};

Error wrong(std::string_view field, std::string_view what) {
  return Error{Code::invalid_argument, concat(field, ": ", what)};
}

bool among(const auto& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Whether the field asks for what everybody gets.
bool asks_for_nothing(const std::string& name, const Json& value) {
  if (value.is_null() || value == false) return true;
  if (name == "n" || name == "best_of") return value == 1;
  if (name == "presence_penalty" || name == "frequency_penalty") return value == 0;
  if (name == "tools") return value.is_array() && value.empty();
  if (name == "suffix") return value.is_string() && value.get_ref<const std::string&>().empty();
  if (name == "response_format") return value.is_object() && value.value("type", Json()) == "text";
  return false;
}

Result<std::vector<TokenId>> prompt_ids(const Json& list) {
  std::vector<TokenId> ids;
  ids.reserve(list.size());
  for (const Json& id : list) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > UINT32_MAX)
      return wrong("prompt", "holds what is no token id");
    ids.push_back(static_cast<TokenId>(id.get<std::uint64_t>()));
  }
  return ids;
}

// A text, or ids; in a list by itself as well.
Result<void> read_prompt(const Json& prompt, Asked& asked) {
  const bool listed = prompt.is_array() && prompt.size() == 1 && !prompt.front().is_number();
  const Json& one = listed ? prompt.front() : prompt;
  if (one.is_string()) {
    asked.text = one.get<std::string>();
    if (asked.text.empty()) return wrong("prompt", "is empty");
    return {};
  }
  if (!one.is_array() || one.empty())
    return wrong("prompt", "is neither a text nor a list of token ids");
  if (!one.front().is_number() && !listed) {
    asked.stays = "it has several prompts";
    return {};
  }
  AQUA_ASSIGN(asked.ids, prompt_ids(one));
  return {};
}

Result<void> read_messages(const Json& messages, Asked& asked) {
  if (!messages.is_array() || messages.empty()) return wrong("messages", "is no list of messages");
  for (const Json& message : messages) {
    if (!message.is_object()) return wrong("messages", "holds what is no message");
    const auto content = message.find("content");
    if (content == message.end() || !content->is_string())
      asked.stays = "a message of it is not plain text";
    if (message.contains("tool_calls") || message.contains("tool_call_id"))
      asked.stays = "it has calls of tools";
  }
  asked.messages = messages.dump(-1, ' ', false, Json::error_handler_t::replace);
  return {};
}

Result<void> read_stop(const Json& stop, Asked& asked) {
  if (stop.is_null()) return {};
  const Json list = stop.is_array() ? stop : Json::array({stop});
  if (list.size() > kMostStops) return wrong("stop", concat("more than ", kMostStops, " texts"));
  for (const Json& text : list) {
    if (!text.is_string() || text.get_ref<const std::string&>().size() > kMostStopBytes)
      return wrong("stop", concat("holds what is no text of at most ", kMostStopBytes, " bytes"));
    asked.stop.push_back(text.get<std::string>());
  }
  return {};
}

// nullopt where it is not given.
Result<std::optional<std::uint64_t>> count(const Json& body, const char* name) {
  const auto found = body.find(name);
  if (found == body.end() || found->is_null()) return std::optional<std::uint64_t>{};
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() > kMostTokens)
    return wrong(name, concat("is no whole number up to ", kMostTokens));
  return std::optional(found->get<std::uint64_t>());
}

Result<bool> flag(const Json& body, const char* name) {
  const auto found = body.find(name);
  if (found == body.end() || found->is_null()) return false;
  if (!found->is_boolean()) return wrong(name, "is neither true nor false");
  return found->get<bool>();
}

Result<void> read_lengths(const Json& body, Asked& asked) {
  AQUA_ASSIGN(const auto tokens, count(body, "max_tokens"));
  AQUA_ASSIGN(const auto completion, count(body, "max_completion_tokens"));
  AQUA_ASSIGN(const auto least, count(body, "min_tokens"));
  const auto most = completion ? completion : tokens;
  if (most && *most == 0) return wrong("max_tokens", "is 0");
  asked.max_tokens = most.value_or(asked.api == Api::completions ? kDefaultMaxTokens : 0);
  asked.min_tokens = least.value_or(0);
  if (asked.max_tokens > 0 && asked.min_tokens > asked.max_tokens)
    return wrong("min_tokens", "is above max_tokens");
  return {};
}

}  // namespace

Result<Asked> parse_asked(Api api, std::string_view text) {
  const Json body = parse_shallow(text);
  if (!body.is_object()) return Error{Code::invalid_argument, "the body is no JSON object"};
  Asked asked{.api = api};
  const char* subject = api == Api::chat ? "messages" : "prompt";
  const auto found = body.find(subject);
  if (found == body.end()) return wrong(subject, "is missing");
  AQUA_TRY(api == Api::chat ? read_messages(*found, asked) : read_prompt(*found, asked));
  if (const auto model = body.find("model"); model != body.end() && !model->is_null()) {
    if (!model->is_string()) return wrong("model", "is no text");
    asked.model = model->get<std::string>();
  }
  AQUA_ASSIGN(asked.stream, flag(body, "stream"));
  AQUA_ASSIGN(asked.tell_ids, flag(body, "return_token_ids"));
  if (const auto options = body.find("stream_options");
      options != body.end() && options->is_object()) {
    AQUA_ASSIGN(asked.include_usage, flag(*options, "include_usage"));
  }
  AQUA_TRY(read_lengths(body, asked));
  if (const auto stop = body.find("stop"); stop != body.end()) AQUA_TRY(read_stop(*stop, asked));
  Json carried = Json::object();
  for (const auto& [name, value] : body.items()) {
    if (among(kCarried, name)) {
      carried[name] = value;
    } else if (among(kNeutral, name) ? !asks_for_nothing(name, value) : !among(kRead, name)) {
      asked.stays = concat("it asks for ", report::shown(name));
    }
  }
  asked.carried = carried.dump(-1, ' ', false, Json::error_handler_t::replace);
  return asked;
}

}  // namespace aqua::router
