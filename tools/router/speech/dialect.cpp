// SPDX-License-Identifier: Apache-2.0
#include "tools/router/speech/dialect.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "base/shallow_json.hpp"
#include "tools/http/engine_answer.hpp"
#include "tools/report/text.hpp"

namespace aqua::router {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostAnswerTokens = 1'000'000'000;  // of an answer, as clients may ask for

Error data_loss(std::string what) {
  return Error{Code::data_loss, std::move(what)};
}

std::string text_of(const Json& body) {
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// `most` 0: as many as the engine wants.
EngineCall call_of(Dialect dialect, std::string_view model, const Asked& asked,
                   std::span<const TokenId> prompt, std::span<const TokenId> generated,
                   std::uint64_t most, std::uint64_t least) {
  Json body = parse_shallow(asked.carried);
  if (!body.is_object()) body = Json::object();
  Json ids = Json::array();
  ids.get_ref<Json::array_t&>().reserve(prompt.size() + generated.size());
  for (const TokenId id : prompt) ids.push_back(id);
  for (const TokenId id : generated) ids.push_back(id);
  body["prompt"] = std::move(ids);
  body["stream"] = true;
  if (dialect == Dialect::llama) {
    if (most > 0) body["n_predict"] = most;
    body["return_tokens"] = true;
    body["cache_prompt"] = true;
    return {"/completion", text_of(body)};
  }
  body["model"] = model;
  body["max_tokens"] = most > 0 ? Json(most) : Json(nullptr);  // left out it would mean 16
  if (least > 0) body["min_tokens"] = least;
  body["return_token_ids"] = true;
  return {"/v1/completions", text_of(body)};
}

std::uint64_t less(std::uint64_t of, std::size_t taken) {
  return of - std::min<std::uint64_t>(of, taken);
}

Result<std::vector<TokenId>> ids_of(const Json& list) {
  std::vector<TokenId> ids;
  if (!list.is_array()) return data_loss("token ids are no list");
  ids.reserve(list.size());
  for (const Json& id : list) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > UINT32_MAX)
      return data_loss(concat("no token id: ", report::shown(id.dump())));
    ids.push_back(static_cast<TokenId>(id.get<std::uint64_t>()));
  }
  return ids;
}

std::string text_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// "aqua": {"turn": 3, "position": 17}, in an event with tokens.
Result<Place> place_of(const Json& aqua) {
  const auto number = [&aqua](const char* name) -> std::optional<std::uint64_t> {
    const auto found = aqua.find(name);
    if (found == aqua.end() || !found->is_number_unsigned()) return {};
    return found->get<std::uint64_t>();
  };
  if (aqua.is_object()) {
    const auto turn = number("turn"), position = number("position");
    if (turn && position) return Place{*turn, *position};
  }
  return data_loss(concat("no turn and position: ", report::shown(aqua.dump())));
}

Result<TokenEvent> vllm_event(const Json& event) {
  const auto choices = event.find("choices");
  if (choices == event.end() || !choices->is_array()) return data_loss("an event without choices");
  TokenEvent told;
  if (choices->empty()) return told;  // usage
  const Json& choice = choices->front();
  if (!choice.is_object()) return data_loss("a choice that is no object");
  told.text = text_at(choice, "text");
  told.finish = text_at(choice, "finish_reason");
  if (const auto found = choice.find("token_ids"); found != choice.end() && !found->is_null()) {
    auto ids = ids_of(*found);
    if (!ids.ok()) return std::move(ids).error();
    told.ids = std::move(ids).value();
    told.count = told.ids.size();
  } else if (!told.text.empty()) {
    told.count = 1;  // at least: an engine that tells no ids
  }
  if (const auto found = event.find("aqua"); found != event.end()) {
    const auto place = place_of(*found);
    if (!place.ok()) return place.error();
    told.place = *place;
  }
  return told;
}

// A token in the middle of a character is left out; tokens_predicted counts it.
Result<TokenEvent> llama_event(const Json& event, std::uint64_t had) {
  if (!event.contains("content")) return data_loss("an event without content");
  TokenEvent told{.text = text_at(event, "content")};
  const auto stop = event.find("stop");
  if (stop != event.end() && *stop == true)
    told.finish = text_at(event, "stop_type") == "limit" ? "length" : "stop";
  if (const auto found = event.find("tokens"); found != event.end() && found->is_array()) {
    auto ids = ids_of(*found);
    if (!ids.ok()) return std::move(ids).error();
    told.ids = std::move(ids).value();
  }
  told.count = told.ids.size();
  const auto predicted = event.find("tokens_predicted");
  // The last event counts the end of the answer too, which has no id.
  if (told.finish.empty() && predicted != event.end() && predicted->is_number_unsigned()) {
    const auto count = predicted->get<std::uint64_t>();
    if (count > kMostAnswerTokens)
      return data_loss(concat("tells of ", count, " tokens, which cannot be"));
    told.count = std::max(told.count, less(count, had));
  }
  return told;
}

}  // namespace

std::string_view to_string(Dialect dialect) noexcept {
  return dialect == Dialect::vllm ? "vllm" : "llama";
}

EngineCall continue_call(Dialect dialect, std::string_view model, const Asked& asked,
                         std::span<const TokenId> prompt, std::span<const TokenId> generated) {
  return call_of(dialect, model, asked, prompt, generated, less(asked.max_tokens, generated.size()),
                 less(asked.min_tokens, generated.size()));
}

EngineCall warm_call(Dialect dialect, std::string_view model, const Asked& asked,
                     std::span<const TokenId> prompt, std::span<const TokenId> generated) {
  return call_of(dialect, model, asked, prompt, generated, 1, 0);
}

Result<TokenEvent> parse_token_event(Dialect dialect, std::string_view data, std::uint64_t had) {
  if (data == "[DONE]") return TokenEvent{};
  const Json event = parse_shallow(data);
  if (!event.is_object())
    return data_loss(concat("not an event of a completion: ", report::shown(data)));
  if (event.contains("error") && !event.at("error").is_null())
    return data_loss(concat("the engine failed: ", http::error_text(data)));
  return dialect == Dialect::vllm ? vllm_event(event) : llama_event(event, had);
}

EngineCall template_call(std::string_view messages) {
  return {"/apply-template", concat(R"({"messages":)", messages, "}")};
}

Result<std::string> parse_template(std::string_view body) {
  const Json answer = parse_shallow(body);
  if (!answer.is_object() || !answer.contains("prompt") || !answer.at("prompt").is_string())
    return data_loss(concat("/apply-template answers no prompt: ", report::shown(body)));
  return answer.at("prompt").get<std::string>();
}

EngineCall tokenize_call(Dialect dialect, std::string_view model, const Asked& asked) {
  if (dialect == Dialect::llama) {
    return {"/tokenize", text_of({{"content", asked.text},
                                  {"add_special", true},
                                  {"parse_special", asked.api == Api::chat}})};
  }
  if (asked.messages.empty())
    return {"/tokenize", text_of({{"model", model}, {"prompt", asked.text}})};
  return {"/tokenize", concat(R"({"model":)", text_of(model), R"(,"add_generation_prompt":true,)",
                              R"("messages":)", asked.messages, "}")};
}

Result<std::vector<TokenId>> parse_tokens(std::string_view body) {
  const Json answer = parse_shallow(body);
  if (!answer.is_object() || !answer.contains("tokens"))
    return data_loss(concat("/tokenize answers no tokens: ", report::shown(body)));
  auto ids = ids_of(answer.at("tokens"));
  if (ids.ok() && ids->empty()) return data_loss("/tokenize answers no tokens");
  return ids;
}

}  // namespace aqua::router
