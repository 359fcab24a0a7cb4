// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/load/completion.hpp"

#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "base/shallow_json.hpp"
#include "tools/http/engine_answer.hpp"
#include "tools/report/text.hpp"
#include "tools/sim/engine/random.hpp"

namespace aqua::profiler {
namespace {

using Json = nlohmann::json;

// Single bytes in byte-level vocabularies, byte tokens in others: in every vocabulary.
constexpr std::uint64_t kFirstId = 10, kIds = 240;

std::optional<Usage> usage_of(const Json& event) {
  const auto found = event.find("usage");
  if (found == event.end() || !found->is_object()) return std::nullopt;
  const auto count = [&](const char* name) -> std::uint64_t {
    const auto field = found->find(name);
    return field != found->end() && field->is_number_unsigned() ? field->get<std::uint64_t>() : 0;
  };
  return Usage{count("prompt_tokens"), count("completion_tokens")};
}

// A token may be no text yet (part of a character); a last event may be no token.
StreamEvent choice_of(const Json& event) {
  const auto choices = event.find("choices");
  if (choices == event.end() || !choices->is_array() || choices->empty()) return {};
  const Json& choice = choices->front();
  if (!choice.is_object()) return {};
  const auto text = choice.find("text");
  const bool any =
      text != choice.end() && text->is_string() && !text->get_ref<const std::string&>().empty();
  const auto reason = choice.find("finish_reason");
  const bool done = reason != choice.end() && !reason->is_null();
  return {.done = done, .ended = done, .token = any || !done};
}

}  // namespace

std::string completion_body(const std::string& model, const Ask& ask, std::uint64_t seed) {
  sim::Random random(seed);
  Json prompt = Json::array();
  for (std::uint32_t i = 0; i < ask.prompt_tokens; ++i)
    prompt.push_back(kFirstId + random.below(kIds));
  const Json body{{"model", model},
                  {"prompt", std::move(prompt)},
                  {"max_tokens", ask.output_tokens},
                  {"min_tokens", ask.output_tokens},
                  {"ignore_eos", true},
                  {"cache_prompt", false},
                  {"temperature", 0},
                  {"stream", true},
                  {"stream_options", {{"include_usage", true}}}};
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<StreamEvent> parse_event(std::string_view data) {
  if (data == "[DONE]") return StreamEvent{.done = true};
  const Json event = parse_shallow(data);
  if (!event.is_object()) {
    return Error{Code::data_loss, concat("not an event of a completion: ", report::shown(data))};
  }
  if (event.contains("error") && !event.at("error").is_null())
    return Error{Code::data_loss, concat("the engine failed: ", http::error_text(data))};
  StreamEvent found = choice_of(event);
  found.usage = usage_of(event);
  return found;
}

}  // namespace aqua::profiler
