// SPDX-License-Identifier: Apache-2.0
#include "speech/asked.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace aqua::fleet {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t kMostTokens = 1'000'000;
constexpr std::size_t kMostName = 256;
constexpr double kMostTemperature = 100;

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

Result<void> read_prompt(const Json& prompt, Asked& asked) {
  if (prompt.is_string()) {
    asked.text = prompt.get<std::string>();
  } else if (prompt.is_array()) {
    for (const Json& id : prompt) {
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() > UINT32_MAX)
        return wrong("prompt holds what is no token id");
      asked.prompt.push_back(static_cast<Token>(id.get<std::uint64_t>()));
    }
  }
  if ((asked.prompt.empty() && asked.text.empty()) || asked.prompt.size() > kMostTokens)
    return wrong("prompt is no text and no list of token ids, or it is empty or too long");
  return {};
}

// Fields that would change what is drawn, and their values that do not.
const std::vector<std::pair<const char*, std::vector<Json>>>& unknown_to_the_sampler() {
  static const std::vector<std::pair<const char*, std::vector<Json>>> fields{
      {"top_p", {1}},
      {"top_k", {0, -1}},
      {"min_p", {0}},
      {"typical_p", {1}},
      {"repetition_penalty", {1}},
      {"presence_penalty", {0}},
      {"frequency_penalty", {0}},
      {"logit_bias", {Json::object()}},
      {"stop_token_ids", {Json::array()}}};
  return fields;
}

Result<void> read_sampler(const Json& body, migration::Sampler& sampler) {
  if (!read_number(body, "seed", UINT64_MAX, sampler.seed)) return wrong("seed is no whole number");
  if (const auto found = body.find("temperature"); found != body.end() && !found->is_null()) {
    const double given = found->is_number() ? found->get<double>() : -1;
    if (!(given >= 0 && given <= kMostTemperature))
      return wrong("temperature is no number from 0 to 100");
    sampler.temperature = static_cast<float>(given);
  }
  for (const auto& [name, neutral] : unknown_to_the_sampler()) {
    const auto found = body.find(name);
    if (found == body.end() || found->is_null()) continue;
    if (std::find(neutral.begin(), neutral.end(), *found) == neutral.end())
      return wrong(std::string(name) + ": this engine samples by temperature and seed alone");
  }
  return {};
}

Result<ChatMessage> read_message(const Json& message) {
  if (!message.is_object()) return wrong("messages holds what is no object");
  ChatMessage read;
  for (const auto& [name, field] : {std::pair{"role", &read.role}, {"content", &read.content}}) {
    const auto found = message.find(name);
    if (found == message.end() || !found->is_string())
      return wrong(std::string("messages: ") + name + " is no text");
    *field = found->get<std::string>();
  }
  return read;
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
  const std::size_t most = asked.prompt.empty() ? 0 : asked.prompt.size() - 1;
  if (!read_number(aqua, "answered", most, asked.answered))
    return wrong("aqua.answered is no number below the prompt's tokens");
  asked.receive = is_true(aqua, "receive");
  if (asked.receive && !asked.stream) return wrong("aqua.receive goes with stream");
  if (const auto from = aqua.find("from"); from != aqua.end()) {
    if (!from->is_string() || from->get_ref<const std::string&>().size() > kMostName)
      return wrong("aqua.from is no text, or too long");
    asked.from = from->get<std::string>();
  }
  return {};
}

}  // namespace

Result<Asked> parse_asked(std::string_view text) {
  const Json body = Json::parse(text, nullptr, false);
  if (!body.is_object()) return wrong("the body is no JSON object");
  Asked asked;
  const auto prompt = body.find("prompt");
  if (prompt == body.end()) return wrong("prompt is missing");
  if (auto read = read_prompt(*prompt, asked); !read.ok()) return std::move(read).error();
  if (!read_number(body, "max_tokens", kMostTokens, asked.max_tokens) || asked.max_tokens == 0)
    return wrong("max_tokens is no whole number from 1 to 1000000");
  const bool is_open = body.contains("max_tokens") && body.at("max_tokens").is_null();
  if (!read_number(body, "min_tokens", is_open ? kMostTokens : asked.max_tokens, asked.min_tokens))
    return wrong("min_tokens is no whole number up to max_tokens");
  if (is_true(body, "ignore_eos")) asked.min_tokens = is_open ? kMostTokens : asked.max_tokens;
  if (is_open) asked.max_tokens = 0;
  if (auto read = read_sampler(body, asked.sampler); !read.ok()) return std::move(read).error();
  asked.stream = is_true(body, "stream");
  if (const auto aqua = body.find("aqua"); aqua != body.end()) {
    if (auto read = read_name(*aqua, asked); !read.ok()) return std::move(read).error();
  }
  return asked;
}

Result<Text> parse_tokenize(std::string_view text) {
  const Json body = Json::parse(text, nullptr, false);
  if (!body.is_object()) return wrong("the body is no JSON object");
  Text read;
  if (const auto chat = body.find("messages"); chat != body.end()) {
    if (!chat->is_array() || chat->empty()) return wrong("messages is no list, or it is empty");
    for (const Json& one : *chat) {
      auto message = read_message(one);
      if (!message.ok()) return std::move(message).error();
      read.chat.push_back(std::move(message).value());
    }
    return read;
  }
  if (!body.contains("prompt") || !body.at("prompt").is_string()) return wrong("prompt is no text");
  read.prompt = body.at("prompt").get<std::string>();
  return read;
}

}  // namespace aqua::fleet
