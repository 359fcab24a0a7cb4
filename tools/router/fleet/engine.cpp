// SPDX-License-Identifier: Apache-2.0
#include "tools/router/fleet/engine.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "base/shallow_json.hpp"
#include "base/try.hpp"
#include "tools/http/engine_answer.hpp"
#include "tools/http/metrics_text.hpp"
#include "tools/report/text.hpp"

namespace aqua::router {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kPatience{2};                   // for what costs an engine nothing
constexpr std::chrono::seconds kTokenPatience{20};             // for tokenizing a long prompt
constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 40;  // as packers have it
constexpr std::size_t kMostName = 64;
// Digits, blanks, capitals, an accent, a sign of four bytes: what vocabularies cut differently.
constexpr const char* kProbe = "Aqua 2026:  naïve\n\tISN'T 3.14159 \xf0\x9f\x8c\x8a <|x|>";

http::HttpClient client_of(const EngineEndpoint& endpoint, std::chrono::seconds patience,
                           const std::stop_token& stop) {
  return http::HttpClient(
      endpoint.url,
      {.api_key = endpoint.api_key, .timeout = patience, .whole = patience, .stop = stop});
}

Error answered(const std::string& path, const http::Reply& reply) {
  const bool asked_wrongly = reply.status == 400 || reply.status == 413 || reply.status == 422;
  return {asked_wrongly ? Code::invalid_argument : Code::unavailable,
          concat(path, " answers ", reply.status, ": ", http::error_text(reply.body))};
}

Result<std::string> get(http::HttpClient& client, const std::string& path) {
  AQUA_ASSIGN(http::Reply reply, client.get(path));
  if (reply.status != 200) return answered(path, reply);
  return std::move(reply.body);
}

// nullopt: the engine does not know the path. A fault that passes is an error: what it would have
// said is not known.
Result<std::optional<std::string>> get_if_known(http::HttpClient& client, const std::string& path) {
  constexpr int kNotImplemented = 501, kTooManyRequests = 429;
  AQUA_ASSIGN(http::Reply reply, client.get(path));
  if (reply.status == 200) return std::optional(std::move(reply.body));
  const bool refused = reply.status / 100 == 4 && reply.status != kTooManyRequests;
  if (refused || reply.status == kNotImplemented) return std::optional<std::string>();
  return answered(path, reply);
}

Result<std::string> post(http::HttpClient& client, const EngineCall& call) {
  constexpr std::size_t kMostAnswer = std::size_t{64} << 20;
  std::string body;
  AQUA_ASSIGN(const http::Reply reply,
              client.post(call.path, call.body, [&](std::string_view bytes, auto) {
                body += bytes;
                return body.size() > kMostAnswer ? http::Heard::enough : http::Heard::something;
              }));
  if (reply.status != 200) return answered(call.path, reply);
  return body;
}

Result<std::uint64_t> checked(double tokens, const char* told_by) {
  if (!(tokens >= 1 && tokens <= static_cast<double>(kMostTokens))) {
    return Error{Code::data_loss,
                 concat(told_by, " tells of ", tokens, " tokens of KV, which cannot be")};
  }
  return static_cast<std::uint64_t>(tokens);
}

// llama-server alone has /props with slots.
bool is_llama(const std::optional<std::string>& props) {
  if (!props) return false;
  const Json answer = parse_shallow(*props);
  return answer.is_object() && answer.contains("total_slots");
}

}  // namespace

Result<EngineEndpoint> parse_engine(std::string_view text) {
  const std::size_t sign = text.find('=');
  const std::string_view name = text.substr(0, sign);
  const bool clean = std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  });
  if (sign == text.npos || name.empty() || name.size() > kMostName || !clean) {
    return Error{Code::invalid_argument,
                 concat("expected NAME=URL, a name of letters, digits, '-', '_' and '.': ",
                        report::shown(text))};
  }
  AQUA_ASSIGN(http::EngineUrl url, http::parse_url(text.substr(sign + 1)));
  return EngineEndpoint{.name = std::string(name), .url = std::move(url)};
}

Result<std::uint64_t> vllm_capacity(std::string_view metrics) {
  double tokens = 0;
  const auto configs = http::find_metric(metrics, "vllm:cache_config_info");
  for (const http::MetricSample& config : configs) {
    const auto label = [&](const char* name) {
      const auto found = config.labels.find(name);
      return found == config.labels.end() ? std::nullopt
                                          : report::parse_number<double>(found->second);
    };
    tokens += label("num_gpu_blocks").value_or(NAN) * label("block_size").value_or(NAN);
  }
  if (configs.empty()) return std::uint64_t{0};
  return checked(tokens, "vllm:cache_config_info");
}

Result<std::uint64_t> llama_capacity(std::string_view props) {
  const Json answer = parse_shallow(props);
  if (!answer.is_object()) return Error{Code::data_loss, "/props is no object"};
  const auto number = [](const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number() ? found->get<double>() : NAN;
  };
  const auto settings = answer.find("default_generation_settings");
  if (settings == answer.end() || !settings->is_object()) return std::uint64_t{0};
  return checked(number(answer, "total_slots") * number(*settings, "n_ctx"), "/props");
}

Result<void> ask_health(const EngineEndpoint& endpoint, const std::stop_token& stop) {
  http::HttpClient client = client_of(endpoint, kPatience, stop);
  AQUA_TRY(get(client, "/health"));
  return {};
}

Result<EnginePool> ask_pool(const EngineEndpoint& endpoint, const std::stop_token& stop) {
  http::HttpClient client = client_of(endpoint, kPatience, stop);
  AQUA_ASSIGN(const std::string pool, get(client, kPoolPath));
  return parse_pool(pool);
}

Result<EngineFacts> ask_facts(const EngineEndpoint& endpoint, const std::stop_token& stop) {
  http::HttpClient client = client_of(endpoint, kPatience, stop);
  AQUA_ASSIGN(const std::string models, get(client, "/v1/models"));
  AQUA_ASSIGN(http::ModelInfo model, http::parse_models(models));
  EngineFacts facts{.model = std::move(model.id), .max_tokens = model.max_tokens};
  AQUA_ASSIGN(const auto props, get_if_known(client, "/props"));
  if (is_llama(props)) {
    facts.dialect = Dialect::llama;
    AQUA_ASSIGN(facts.kv_tokens, llama_capacity(*props));
  } else {
    AQUA_ASSIGN(const auto metrics, get_if_known(client, "/metrics"));
    if (metrics) {
      AQUA_ASSIGN(facts.kv_tokens, vllm_capacity(*metrics));
    }
  }
  AQUA_ASSIGN(const std::string tokens,
              post(client, tokenize_call(facts.dialect, facts.model, {.text = kProbe})));
  AQUA_ASSIGN(facts.fingerprint, parse_tokens(tokens));
  AQUA_ASSIGN(const auto pool, get_if_known(client, kPoolPath));
  if (pool) facts.kv = parse_pool(*pool);
  return facts;
}

Result<std::vector<TokenId>> ask_ids(const EngineEndpoint& endpoint, Asked asked,
                                     const std::stop_token& stop) {
  http::HttpClient client = client_of(endpoint, kTokenPatience, stop);
  if (endpoint.dialect == Dialect::llama && asked.api == Api::chat) {
    AQUA_ASSIGN(const std::string body, post(client, template_call(asked.messages)));
    AQUA_ASSIGN(asked.text, parse_template(body));
  }
  AQUA_ASSIGN(const std::string body,
              post(client, tokenize_call(endpoint.dialect, endpoint.model, asked)));
  return parse_tokens(body);
}

}  // namespace aqua::router
