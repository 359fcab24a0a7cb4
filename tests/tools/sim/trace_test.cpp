// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/input/trace.hpp"

#include <fstream>

#include "tests/tools/sim/ground.hpp"

namespace aqua::sim::test {
namespace {

TEST(Trace, ReadsAzure) {
  const Trace trace = must(
      read_trace("TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n"
                 "2023-11-16 18:15:50.9951690,396,109\r\n"));
  ASSERT_EQ(trace.requests.size(), 2u);
  EXPECT_EQ(trace.format, TraceFormat::azure);
  EXPECT_EQ(trace.requests[0].arrival, 0);
  EXPECT_NEAR(seconds(trace.requests[1].arrival), 4.3145790, 1e-6);
  EXPECT_EQ(trace.requests[1].prompt_tokens, 396u);
  EXPECT_EQ(trace.requests[1].output_tokens, 109u);
}

TEST(Trace, ReadsTheLaterAzureStamps) {
  const Trace trace = must(
      read_trace("TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,1,2\n"
                 "2024-05-10 00:00:01+00:00,3,4"));
  EXPECT_NEAR(seconds(trace.requests[1].arrival), 0.99007, 1e-6);
}

TEST(Trace, ReadsBurstGptAndLiftsAnswersOfNoToken) {
  const Trace trace =
      must(read_trace("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                      "5,ChatGPT,472,18,490,Conversation log\n45.5,GPT-4,1087,0,1087,API log\n"));
  EXPECT_EQ(trace.format, TraceFormat::burstgpt);
  EXPECT_EQ(trace.requests[1].arrival, picos(40.5));
  EXPECT_EQ(trace.requests[1].output_tokens, 1u);
  EXPECT_EQ(trace.lifted, 1u);
}

TEST(Trace, ReadsMooncakeWithItsBlocks) {
  const Trace trace = must(read_trace(
      R"({"timestamp": 1000, "input_length": 1025, "output_length": 5, "hash_ids": [0, 7, 9]}
{"timestamp": 0, "input_length": 600, "output_length": 6, "hash_ids": [0, 3]}
)"));
  EXPECT_EQ(trace.format, TraceFormat::mooncake);
  EXPECT_EQ(trace.requests[0].prompt_tokens, 600u);  // by arrival
  EXPECT_EQ(trace.requests[1].arrival, kPicosPerSecond);
  EXPECT_EQ(trace.blocks_of(trace.requests[1])[1], 7u);
  EXPECT_EQ(trace.blocks_of(trace.requests[0]).size(), 2u);
}

TEST(Trace, ReadsLengths) {
  const Trace trace = must(read_trace(
      "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n3772,54,3826,69.85\n"));
  EXPECT_EQ(trace.format, TraceFormat::lengths);
  EXPECT_EQ(trace.requests[0].prompt_tokens, 3772u);
}

TEST(Trace, ErrorsNameTheLineAndWhatWasExpected) {
  const std::string azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  const std::string burst =
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
  const std::pair<std::string, const char*> cases[] = {
      {"", "line 1"},
      {"a,b,c\n", "known formats"},
      {azure, "no request"},
      {azure + "2023-11-16 18:15:46,1\n", "line 2: expected 3 columns"},
      {azure + "2023-02-30 18:15:46,1,1\n", "TIMESTAMP"},
      {azure + "2023-11-16 18:15:46,1,1\n2023-11-16 18:15:46,x,1\n", "line 3: ContextTokens"},
      {azure + "2023-11-16 18:15:46,1,10000001\n", "GeneratedTokens"},
      {azure + "2023-11-16 18:15:46,1,1\n2024-11-16 18:15:46,1,1\n", "100 days"},
      {burst + "nan,m,1,1,2,x\n", "Timestamp"},
      {burst + "-1,m,1,1,2,x\n", "Timestamp"},
      {"{\"timestamp\": 0}\n", "input_length"},
      {"{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [1, 2]}\n",
       "hash_ids"},
      {"{nonsense\n", "line 1: expected a JSON object"}};
  for (const auto& [text, expected] : cases) {
    const auto trace = read_trace(text);
    ASSERT_FALSE(trace.ok()) << text;
    EXPECT_EQ(trace.error().code, Code::invalid_argument) << text;
    EXPECT_NE(trace.error().message.find(expected), std::string::npos) << trace.error().message;
  }
  EXPECT_EQ(read_trace_file("/nonexistent").error().code, Code::not_found);
}

TEST(Trace, TheRealOnesHaveTheRowsThatTheirMakersCount) {
  if (data("traces").empty()) GTEST_SKIP() << "AQUA_DATA is not set";
  EXPECT_EQ(must(read_trace_file(data("traces/azure_llm_inference_conv_2023.csv"))).requests.size(),
            19'366u);
  const Trace mooncake = must(read_trace_file(data("traces/mooncake_conversation_trace.jsonl")));
  EXPECT_EQ(mooncake.requests.size(), 12'031u);
  EXPECT_FALSE(mooncake.hashes.empty());
  EXPECT_EQ(must(read_trace_file(data("traces/arxiv_summarization_lengths.csv"))).requests.size(),
            28'257u);
}

}  // namespace
}  // namespace aqua::sim::test
