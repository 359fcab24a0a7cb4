// SPDX-License-Identifier: Apache-2.0
// What clients ask and are told, and what engines are asked and tell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/router/fleet/engine.hpp"
#include "tools/router/serve/admin.hpp"
#include "tools/router/serve/request_filter.hpp"
#include "tools/router/speech/asked.hpp"
#include "tools/router/speech/dialect.hpp"
#include "tools/router/speech/told.hpp"

namespace aqua::router {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST(Asked, IsReadAsOpenAiHasIt) {
  const auto asked = parse_asked(
      Api::completions,
      R"({"model":"m","prompt":"hi","max_tokens":7,"stop":["a","b"],"seed":3,"temperature":0,
          "stream":true,"stream_options":{"include_usage":true},"n":1,"logprobs":null,"user":"u"})");
  ASSERT_TRUE(asked.ok()) << asked.error().message;
  EXPECT_EQ(asked->text, "hi");
  EXPECT_EQ(asked->max_tokens, 7u);
  EXPECT_THAT(asked->stop, ElementsAre("a", "b"));
  EXPECT_TRUE(asked->stream && asked->include_usage);
  EXPECT_EQ(Json::parse(asked->carried), (Json{{"seed", 3}, {"temperature", 0}}));
  EXPECT_EQ(asked->stays, "");
}

TEST(Asked, TakesPromptsOfIds) {
  const auto asked = parse_asked(Api::completions, R"({"prompt":[1,2,4294967295]})");
  ASSERT_TRUE(asked.ok());
  EXPECT_THAT(asked->ids, ElementsAre(1u, 2u, 4294967295u));
  EXPECT_EQ(asked->max_tokens, 16u) << "as OpenAI has it";
  EXPECT_THAT(parse_asked(Api::completions, R"({"prompt":[[5,6]]})").value().ids,
              ElementsAre(5, 6));
}

TEST(Asked, WhatNoOtherEngineCanGoOnWithStays) {
  const std::pair<Api, const char*> cases[] = {
      {Api::completions, R"({"prompt":"a","n":2})"},
      {Api::completions, R"({"prompt":"a","logprobs":3})"},
      {Api::completions, R"({"prompt":"a","echo":true})"},
      {Api::completions, R"({"prompt":"a","presence_penalty":0.5})"},
      {Api::completions, R"({"prompt":["a","b"]})"},
      {Api::completions, R"({"prompt":"a","unheard_of":1})"},
      {Api::chat,
       R"({"messages":[{"role":"user","content":"a"}],"response_format":{"type":"json_object"}})"},
      {Api::chat, R"({"messages":[{"role":"user","content":"a"}],"tools":[{}]})"},
      {Api::chat, R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})"}};
  for (const auto& [api, body] : cases) {
    const auto asked = parse_asked(api, body);
    ASSERT_TRUE(asked.ok()) << body;
    EXPECT_NE(asked->stays, "") << body;
  }
}

TEST(Asked, NamesTheFieldThatIsWrong) {
  const std::tuple<Api, const char*, const char*> cases[] = {
      {Api::completions, "", "no JSON object"},
      {Api::completions, "[]", "no JSON object"},
      {Api::completions, "{}", "prompt: is missing"},
      {Api::completions, R"({"prompt":""})", "prompt: is empty"},
      {Api::completions, R"({"prompt":[]})", "prompt"},
      {Api::completions, R"({"prompt":[-1]})", "prompt: holds what is no token id"},
      {Api::completions, R"({"prompt":[4294967296]})", "prompt: holds what is no token id"},
      {Api::completions, R"({"prompt":{"a":1}})", "prompt"},
      {Api::completions, R"({"prompt":"a","max_tokens":0})", "max_tokens: is 0"},
      {Api::completions, R"({"prompt":"a","max_tokens":-1})", "max_tokens"},
      {Api::completions, R"({"prompt":"a","max_tokens":1e30})", "max_tokens"},
      {Api::completions, R"({"prompt":"a","min_tokens":17})", "min_tokens: is above"},
      {Api::completions, R"({"prompt":"a","stream":1})", "stream"},
      {Api::completions, R"({"prompt":"a","stop":[1]})", "stop"},
      {Api::completions, R"({"prompt":"a","model":5})", "model"},
      {Api::chat, R"({"prompt":"a"})", "messages: is missing"},
      {Api::chat, R"({"messages":[]})", "messages"},
      {Api::chat, R"({"messages":["a"]})", "messages: holds what is no message"}};
  for (const auto& [api, body, part] : cases) {
    const auto asked = parse_asked(api, body);
    ASSERT_FALSE(asked.ok()) << body;
    EXPECT_EQ(asked.error().code, Code::invalid_argument);
    EXPECT_THAT(asked.error().message, HasSubstr(part)) << body;
  }
}

const Asked kAsked{.max_tokens = 10, .min_tokens = 4, .carried = R"({"seed":3})"};
const std::vector<TokenId> kPrompt{1, 2}, kAnswer{3, 4, 5};

TEST(Dialect, VllmContinuesFromIdsWithWhatIsLeftToSay) {
  const EngineCall call = continue_call(Dialect::vllm, "m", kAsked, kPrompt, kAnswer);
  EXPECT_EQ(call.path, "/v1/completions");
  EXPECT_EQ(Json::parse(call.body),
            Json::parse(R"({"model":"m","prompt":[1,2,3,4,5],"max_tokens":7,"min_tokens":1,"seed":3,
                            "stream":true,"return_token_ids":true})"));
  EXPECT_EQ(Json::parse(warm_call(Dialect::vllm, "m", kAsked, kPrompt, kAnswer).body)["max_tokens"],
            1);
}

TEST(Dialect, WithoutALimitTheEngineHasNone) {
  const Asked asked =
      parse_asked(Api::chat, R"({"messages":[{"role":"user","content":"a"}]})").value();
  const Json body = Json::parse(continue_call(Dialect::vllm, "m", asked, kPrompt, {}).body);
  EXPECT_TRUE(body.at("max_tokens").is_null()) << "left out, vLLM would end after 16";
  EXPECT_FALSE(Json::parse(continue_call(Dialect::llama, "m", asked, kPrompt, {}).body)
                   .contains("n_predict"));
}

TEST(Dialect, LlamaServerContinuesByItsOwnWords) {
  const EngineCall call = continue_call(Dialect::llama, "m", kAsked, kPrompt, kAnswer);
  EXPECT_EQ(call.path, "/completion");
  EXPECT_EQ(Json::parse(call.body),
            Json::parse(R"({"prompt":[1,2,3,4,5],"n_predict":7,"seed":3,"stream":true,
                            "return_tokens":true,"cache_prompt":true})"));
}

TEST(Dialect, EventsTellIdsTextAndTheEnd) {
  const auto token = parse_token_event(
      Dialect::vllm, R"({"choices":[{"text":"a","token_ids":[5,6],"finish_reason":"stop"}]})", 0);
  ASSERT_TRUE(token.ok());
  EXPECT_THAT(token->ids, ElementsAre(5u, 6u));
  EXPECT_EQ(token->finish, "stop");
  EXPECT_EQ(parse_token_event(Dialect::vllm, "[DONE]", 0).value().count, 0u);
  EXPECT_EQ(parse_token_event(Dialect::vllm, R"({"choices":[],"usage":{}})", 0).value().count, 0u);
  EXPECT_FALSE(token->place);
  const auto placed = parse_token_event(
      Dialect::vllm,
      R"({"choices":[{"text":"a","token_ids":[5]}],"aqua":{"turn":3,"position":17}})", 0);
  ASSERT_TRUE(placed.ok() && placed->place);
  EXPECT_EQ(placed->place->turn, 3u);
  EXPECT_EQ(placed->place->position, 17u);
  const auto blind = parse_token_event(Dialect::vllm, R"({"choices":[{"text":"a"}]})", 0);
  EXPECT_EQ(blind->count, 1u);
  EXPECT_TRUE(blind->ids.empty()) << "an engine that tells no ids";
}

TEST(Dialect, LlamaServersOmissionsShowInItsCount) {
  const auto event = parse_token_event(
      Dialect::llama, R"({"content":"e","tokens":[9],"stop":false,"tokens_predicted":5})", 3);
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->count, 2u);
  EXPECT_THAT(event->ids, ElementsAre(9u));
  const auto last = parse_token_event(
      Dialect::llama,
      R"({"content":"","tokens":[],"stop":true,"stop_type":"eos","tokens_predicted":6})", 5);
  EXPECT_EQ(last->finish, "stop");
  EXPECT_EQ(last->count, 0u);
  for (const char* count : {"1000000001", "18446744073709551615"}) {
    const auto lie = parse_token_event(
        Dialect::llama, std::string(R"({"content":"e","tokens_predicted":)") + count + "}", 3);
    ASSERT_FALSE(lie.ok()) << "it would wrap what is counted with it";
    EXPECT_EQ(lie.error().code, Code::data_loss);
  }
}

TEST(Dialect, WhatIsNoEventIsNamed) {
  for (const Dialect dialect : {Dialect::vllm, Dialect::llama}) {
    for (const char* data : {"", "{", "[]", "5", "{}", R"({"error":{"message":"out of memory"}})",
                             R"({"choices":5})"}) {
      const auto event = parse_token_event(dialect, data, 0);
      ASSERT_FALSE(event.ok()) << data;
      EXPECT_EQ(event.error().code, Code::data_loss);
    }
  }
  for (const char* data : {R"({"choices":[{"token_ids":[-4]}]})", R"({"choices":[{}],"aqua":5})",
                           R"({"choices":[{}],"aqua":{"turn":3}})",
                           R"({"choices":[{}],"aqua":{"turn":3,"position":-1}})"}) {
    const auto event = parse_token_event(Dialect::vllm, data, 0);
    ASSERT_FALSE(event.ok()) << data;
    EXPECT_EQ(event.error().code, Code::data_loss) << data;
  }
}

TEST(Told, EventsAreOpenAis) {
  const Heading chat{.api = Api::chat, .id = "x", .model = "m\"", .created = 5, .tell_ids = true};
  const std::string event = piece_event(chat, "a\n", kPrompt, "");
  ASSERT_TRUE(event.starts_with("data: ") && event.ends_with("\n\n"));
  const Json json = Json::parse(event.substr(6));
  EXPECT_EQ(json.at("object"), "chat.completion.chunk");
  EXPECT_EQ(json.at("model"), "m\"");
  EXPECT_EQ(json.at("choices")[0].at("delta").at("content"), "a\n");
  EXPECT_EQ(json.at("choices")[0].at("token_ids"), Json(kPrompt));
  EXPECT_TRUE(json.at("choices")[0].at("finish_reason").is_null());
  const Heading plain{.id = "x", .model = "m"};
  EXPECT_EQ(Json::parse(piece_event(plain, "\xff", {}, "stop").substr(6))["choices"][0]["text"],
            "\xef\xbf\xbd")
      << "always JSON";
  EXPECT_EQ(Json::parse(usage_event(plain, 3, 4).substr(6))["usage"]["total_tokens"], 7);
  EXPECT_EQ(Json::parse(whole_answer(
                chat, {.text = "t", .finish = "stop"}))["choices"][0]["message"]["content"],
            "t");
}

TEST(Engine, IsANameAndAUrl) {
  const auto engine = parse_engine("gpu-1.a=http://host:8000/v1");
  ASSERT_TRUE(engine.ok());
  EXPECT_EQ(engine->name, "gpu-1.a");
  EXPECT_EQ(engine->url.port, 8000);
  for (const char* text :
       {"", "a", "=http://a", "a b=http://a", "a=ftp://a", "a=https://a", "é=http://a"})
    EXPECT_EQ(parse_engine(text).error().code, Code::invalid_argument) << text;
}

TEST(Engine, CapacitiesThatCannotBeAreRefused) {
  const auto vllm = [](const std::string& blocks, const std::string& size) {
    return vllm_capacity("vllm:cache_config_info{num_gpu_blocks=\"" + blocks + "\",block_size=\"" +
                         size + "\"} 1\n");
  };
  EXPECT_EQ(vllm("10", "16").value(), 160u);
  EXPECT_EQ(vllm_capacity("").value(), 0u) << "not told";
  for (const auto& [blocks, size] : {std::pair{"0", "16"},
                                     {"-1", "16"},
                                     {"1e300", "16"},
                                     {"nan", "16"},
                                     {"x", "16"},
                                     {"10", ""}})
    EXPECT_EQ(vllm(blocks, size).error().code, Code::data_loss) << blocks;
  EXPECT_EQ(
      llama_capacity(R"({"total_slots":4,"default_generation_settings":{"n_ctx":100}})").value(),
      400u);
  EXPECT_EQ(llama_capacity(R"({"total_slots":-4,"default_generation_settings":{"n_ctx":100}})")
                .error()
                .code,
            Code::data_loss);
}

TEST(Admin, AMoveNamesItsEngine) {
  EXPECT_EQ(parse_move(R"({"to":"b"})").value(), (AskedMove{"b", false}));
  EXPECT_EQ(parse_move(R"({"to":"b","by":"tokens"})").value(), (AskedMove{"b", true}));
  for (const char* body : {"", "{}", R"({"to":5})", R"({"to":"a","x":1})",
                           R"({"to":"a","by":"kv"})", R"({"by":"tokens"})", "[]"})
    EXPECT_EQ(parse_move(body).error().code, Code::invalid_argument) << body;
}

TEST(RequestFilter, RefusesBodiesUnread) {
  RequestFilter filter({.most_body = 2000});
  std::optional<access::Quota::Pass> pass;
  HeadView head{.method = "POST",
                .path = "/v1/completions",
                .content_type = "application/json",
                .content_length = "2000"};
  EXPECT_FALSE(filter.refusal_of(head, pass));
  const auto status = [&](HeadView wrong) { return filter.refusal_of(wrong, pass).value().status; };
  HeadView other = head;
  other.content_length = "2001";
  EXPECT_EQ(status(other), 413);
  for (const char* length : {"", "-1", "99999999999999999999999", "0x10", "5 "}) {
    other.content_length = length;
    EXPECT_EQ(status(other), 411) << length;
  }
  other = head;
  other.has_transfer_encoding = true;
  EXPECT_EQ(status(other), 411);
  other = head;
  other.has_content_encoding = true;
  EXPECT_EQ(status(other), 415);
  for (const char* method : {"GET", "DELETE", "PATCH"}) {
    for (const char* path : {"/healthz", "/nowhere"}) {
      const HeadView bare{.method = method, .path = path};
      EXPECT_FALSE(filter.refusal_of(bare, pass));
      other = bare;
      other.content_length = "5";
      EXPECT_EQ(status(other), 413) << method;
      other.has_content_encoding = true;
      EXPECT_EQ(status(other), 415) << "the library would unpack it: " << method;
      other.has_transfer_encoding = true;
      EXPECT_EQ(status(other), 411) << method;
    }
  }
  other = head;
  other.content_type = "text/plain";
  EXPECT_EQ(status(other), 415) << "what a page of another site may send unasked";
  other = head;
  other.from_page = true;
  EXPECT_EQ(status(other), 403);
  other = head;
  other.host = "here.example:8080";
  EXPECT_EQ(status(other), 421);
  EXPECT_FALSE(RequestFilter({.open = true}).refusal_of(other, pass));
}

TEST(RequestFilter, RolesAreTheCoordinators) {
  using access::Role;
  EXPECT_EQ(role_for("GET", "/healthz"), Role::none);
  for (const char* path : {"/", "/common.js", "/router.js", "/dashboard.css"}) {
    EXPECT_EQ(role_for("GET", path), Role::none) << path;
    EXPECT_EQ(role_for("POST", path), Role::operator_) << path;
  }
  EXPECT_EQ(role_for("GET", "/metrics"), Role::read_only);
  EXPECT_EQ(role_for("GET", "/v1/models"), Role::read_only);
  EXPECT_EQ(role_for("POST", "/v1/chat/completions"), Role::engine);
  EXPECT_EQ(role_for("POST", "/admin/v1/engines/a/drain"), Role::operator_);
  EXPECT_EQ(role_for("DELETE", "/nowhere"), Role::operator_);
}

}  // namespace
}  // namespace aqua::router
