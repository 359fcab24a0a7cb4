// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/router/live.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "tools/http/http_client.hpp"
#include "tools/http/metrics_text.hpp"
#include "tools/http/sse.hpp"

namespace aqua::router::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> with(std::vector<std::string> first, std::vector<std::string> then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

http::HttpClient client_of(const std::string& url, const std::string& key = "") {
  return http::HttpClient(http::parse_url(url).value(), {.api_key = key, .timeout = 60s});
}

void take(const Json& event, Answer& answer) {
  if (event.contains("error")) {
    answer.error = event.at("error").at("message");
    return;
  }
  if (event.at("choices").empty()) return;
  const Json& choice = event.at("choices").front();
  for (const Json& id : choice.value("token_ids", Json::array())) answer.ids.push_back(id);
  for (const char* part : {"delta", "message"}) {
    if (choice.contains(part)) answer.text += choice.at(part).value("content", "");
  }
  answer.text += choice.value("text", "");
  if (choice.contains("finish_reason") && choice.at("finish_reason").is_string())
    answer.finish = choice.at("finish_reason");
}

}  // namespace

Answer expected_answer(const std::vector<tool::TokenId>& prompt, std::uint64_t seed,
                       std::uint32_t tokens) {
  tool::Continuation continuation(prompt, seed);
  tool::Detokenizer detokenizer;
  Answer answer{.finish = "length", .done = true};
  for (std::uint32_t i = 0; i < tokens; ++i) {
    answer.ids.push_back(continuation.next(false));
    answer.text += detokenizer.feed(answer.ids.back());
  }
  return answer;
}

std::vector<tool::TokenId> some_prompt(std::uint32_t seed, std::size_t tokens) {
  std::vector<tool::TokenId> ids{tool::kBegin};
  while (ids.size() < tokens) ids.push_back(10 + (seed = seed * 1664525 + 1013904223) % 200);
  return ids;
}

Json request_of(const std::vector<tool::TokenId>& prompt, std::uint64_t seed,
                std::uint32_t tokens) {
  return {{"prompt", prompt},   {"seed", seed},   {"max_tokens", tokens},
          {"ignore_eos", true}, {"stream", true}, {"return_token_ids", true}};
}

Answer ask(const std::string& url, const Json& body, const std::string& path,
           const std::function<bool(const Answer&)>& token, const std::string& key) {
  http::HttpClient client = client_of(url, key);
  http::SseReader reader;
  Answer answer;
  std::string whole;
  const bool stream = body.value("stream", false);
  const auto reply = client.post(path, body.dump(), [&](std::string_view bytes, auto) {
    if (!stream) {
      whole += bytes;
      return http::Heard::something;
    }
    bool goes_on = true;
    const auto fed = reader.feed(bytes, [&](std::string_view data) {
      if (data == "[DONE]") {
        answer.done = true;
      } else {
        take(Json::parse(data), answer);
      }
      goes_on = goes_on && (!token || token(answer));
    });
    EXPECT_TRUE(fed.ok());
    return goes_on ? http::Heard::something : http::Heard::enough;
  });
  if (!reply.ok()) {
    if (answer.error.empty()) answer.error = reply.error().message;
    return answer;
  }
  answer.status = reply->status;
  if (!stream && reply->status == 200) {
    answer.body = Json::parse(whole);
    answer.done = true;
    take(answer.body, answer);
  }
  if (reply->status != 200) answer.error = reply->body;
  return answer;
}

bool becomes(const std::function<bool()>& true_) {
  const auto limit = std::chrono::steady_clock::now() + 60s;
  while (!true_()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

EngineProcess::EngineProcess(std::vector<std::string> arguments)
    : child(with({AQUA_SIM_SERVER_PROGRAM}, std::move(arguments))) {
  const std::string line = child.read_line();
  url_ = line.substr(0, line.find(' '));
}

double EngineProcess::used() const {
  http::HttpClient client = client_of(url_);
  const auto reply = client.get("/metrics");
  if (!reply.ok()) return -1;
  return http::metric_sum(reply->body, "vllm:kv_cache_usage_perc").value_or(-1);
}

RouterProcess::RouterProcess(const std::vector<std::string>& engine_urls,
                             std::vector<std::string> arguments, std::size_t up,
                             const std::string& program)
    : child([&] {
        std::vector<std::string> all{program.empty() ? AQUA_ROUTER_PROGRAM : program,
                                     "--listen",
                                     "127.0.0.1:0",
                                     "--health",
                                     "100",
                                     "--epoch",
                                     "50",
                                     "--rest",
                                     "200"};
        for (std::size_t i = 0; i < engine_urls.size(); ++i) {
          all.push_back("--engine");
          all.push_back(std::string(1, static_cast<char>('a' + i)) + "=" + engine_urls[i]);
        }
        return with(std::move(all), std::move(arguments));
      }()) {
  const std::string line = child.read_line();
  url_ = "http://" + line.substr(line.rfind(' ') + 1);
  up = std::min(up, engine_urls.size());
  EXPECT_TRUE(becomes([&] { return metric("aqua_router_engine_up") >= static_cast<double>(up); }))
      << get("/admin/v1/engines").dump();
}

Json RouterProcess::get(const std::string& path) const {
  http::HttpClient client = client_of(url_);
  const auto reply = client.get(path);
  return reply.ok() ? Json::parse(reply->body, nullptr, false) : Json();
}

int RouterProcess::order(const std::string& path, const std::string& body, bool remove) const {
  http::HttpClient client = client_of(url_);
  if (!remove) {
    const auto reply = client.post(path, body, [](auto, auto) { return http::Heard::something; });
    return reply.ok() ? reply->status : 0;
  }
  const auto reply = client.erase(path);
  return reply.ok() ? reply->status : 0;
}

double RouterProcess::metric(const std::string& name, const std::string& label) const {
  http::HttpClient client = client_of(url_);
  const auto reply = client.get("/metrics");
  if (!reply.ok()) return -1;
  double sum = 0;
  for (const http::MetricSample& sample : http::find_metric(reply->body, name)) {
    const bool wanted = label.empty() || std::ranges::any_of(sample.labels, [&](const auto& one) {
                          return one.second == label;
                        });
    if (wanted) sum += sample.value;
  }
  return sum;
}

Json RouterProcess::engine(const std::string& name) const {
  const Json all = get("/admin/v1/engines");
  for (const Json& engine : all.value("engines", Json::array())) {
    if (engine.at("name") == name) return engine;
  }
  return {};
}

}  // namespace aqua::router::test
