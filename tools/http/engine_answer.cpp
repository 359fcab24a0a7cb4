// SPDX-License-Identifier: Apache-2.0
#include "tools/http/engine_answer.hpp"

#include "base/concat.hpp"
#include "base/shallow_json.hpp"
#include "tools/report/text.hpp"

namespace aqua::http {

using Json = nlohmann::json;

std::string error_text(std::string_view body) {
  const Json answer = parse_shallow(body);
  const Json* found = &answer;
  for (const char* key : {"error", "message"}) {
    if (found->is_object() && found->contains(key)) found = &found->at(key);
  }
  if (!found->is_string()) return report::shown(body);
  return message_shown(found->get_ref<const std::string&>());
}

std::string message_shown(std::string_view message) {
  // report::shown() keeps forty characters; messages say what to do at their ends.
  constexpr std::size_t kMost = 300;
  std::string out;
  for (const char c : message.substr(0, kMost)) out += c >= ' ' && c <= '~' ? c : '?';
  return out;
}

Result<ModelInfo> parse_models(std::string_view body) {
  const Json answer = parse_shallow(body);
  const Json* list = answer.is_object() && answer.contains("data") ? &answer.at("data") : nullptr;
  const bool any =
      list != nullptr && list->is_array() && !list->empty() && list->front().is_object();
  if (!any || !list->front().contains("id") || !list->front().at("id").is_string()) {
    return Error{Code::data_loss, concat("/v1/models lists no model: ", report::shown(body))};
  }
  const Json& model = list->front();
  ModelInfo info{.id = model.at("id").get<std::string>()};
  const auto most = model.find("max_model_len");
  if (most != model.end() && most->is_number_unsigned())
    info.max_tokens = most->get<std::uint64_t>();
  return info;
}

}  // namespace aqua::http
