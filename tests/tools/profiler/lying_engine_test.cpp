// SPDX-License-Identifier: Apache-2.0
// Engines that lie in their metrics or their usage, or play another load than they were asked for.
#include "tests/tools/profiler/bad_engine.hpp"

namespace aqua::profiler {
namespace {

TEST_F(BadEngine, LyingInItsMetricsIsSaid) {
  usage_ = 1.7;
  fails(Code::data_loss, "cannot be true: vllm:kv_cache_usage_perc is 1.7");
}

TEST_F(BadEngine, TellingItsMemoryOnlyBeforeALoadIsSaid) {
  ask_for("10,3");
  metrics_fail_ = true;
  auto wanted = options();
  wanted.memory.source = MemorySource::vllm;
  wanted.requests = 100;
  wanted.range = {.from = 100, .to = 100, .step = 1};  // a second: ten readings
  const auto said = tool::run_profile(wanted, {});
  ASSERT_FALSE(said.ok());
  EXPECT_EQ(said.error().code, Code::data_loss);
  EXPECT_NE(said.error().message.find("s: GET /metrics: the engine answers 500"), std::string::npos)
      << said.error().message;
  EXPECT_EQ(kept().profile.free_bytes, 0u);
}

TEST_F(BadEngine, LyingInItsUsageIsSaid) {
  good_ = 35;
  misbehave_ = [](const auto& request, auto& reply) {
    std::string text = answer(Asked(request));
    text.replace(text.find("\"completion_tokens\":2"), 21, "\"completion_tokens\":0");
    reply.set_content(text, "text/event-stream");
  };
  fails(Code::unavailable, "its usage says 0 tokens, 2 came");
}

TEST_F(BadEngine, EndingAnswersBeforeTheirLengthIsSaid) {
  ask_for("10,5");
  good_ = 0;
  misbehave_ = [](const auto& request, auto& reply) {
    reply.set_content(answer(Asked(request).prompt, 2), "text/event-stream");
  };
  fails(Code::data_loss, "ends answers before their length: after 2 of 5 tokens");
}

TEST_F(BadEngine, TakingPromptsForLongerOnesIsSaid) {
  good_ = 0;
  misbehave_ = [](const auto& request, auto& reply) {
    reply.set_content(answer(2 * Asked(request).prompt, 2), "text/event-stream");
  };
  fails(Code::data_loss, "takes prompts for other ones: of ");
}

TEST_F(BadEngine, ThatAddsATokenToEachPromptIsProfiled) {
  good_ = 0;
  misbehave_ = [](const auto& request, auto& reply) {
    reply.set_content(answer(Asked(request).prompt + 1, 2), "text/event-stream");
  };
  const auto said = profile();
  EXPECT_TRUE(said.ok()) << said.error().message;
}

}  // namespace
}  // namespace aqua::profiler
