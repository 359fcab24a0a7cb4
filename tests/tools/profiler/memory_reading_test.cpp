// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/memory/memory_reading.hpp"

#include <gtest/gtest.h>

#include "aqua/northbound/load_metrics.hpp"

namespace aqua::profiler {
namespace {

const std::string kVllm =
    "# HELP vllm:kv_cache_usage_perc KV-cache usage. 1 means 100 percent usage.\n"
    "# TYPE vllm:kv_cache_usage_perc gauge\n"
    "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"a,b \\\"c\\\"\"} 0.25\n"
    "vllm:cache_config_info{block_size=\"16\",cache_dtype=\"auto\",num_gpu_blocks=\"1000\"} 1.0\n";

void refuses(const Result<MemoryReading>& reading, Code code, const std::string& part) {
  ASSERT_FALSE(reading.ok());
  EXPECT_EQ(to_string(reading.error().code), to_string(code));
  EXPECT_NE(reading.error().message.find(part), std::string::npos) << reading.error().message;
}

TEST(Memory, OfVllmIsItsShareOfItsBlocks) {
  const auto reading = read_vllm(kVllm, {.bytes_per_token = 100});
  ASSERT_TRUE(reading.ok()) << reading.error().message;
  EXPECT_DOUBLE_EQ(reading->total_bytes, 1'600'000);
  EXPECT_DOUBLE_EQ(reading->used_bytes, 400'000);
  EXPECT_DOUBLE_EQ(read_vllm(kVllm, {.kv_bytes = 1000}).value().used_bytes, 250);
}

TEST(Memory, OfAnOlderVllmHasAnotherName) {
  const auto reading = read_vllm("vllm:gpu_cache_usage_perc 0.5\n", {.kv_bytes = 1000});
  ASSERT_TRUE(reading.ok());
  EXPECT_DOUBLE_EQ(reading->used_bytes, 500);
}

TEST(Memory, OfADataParallelVllmIsAllEnginesTogether) {
  const std::string two =
      "vllm:kv_cache_usage_perc{engine=\"0\"} 0.5\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.25\n";
  const std::string pools =
      "vllm:cache_config_info{engine=\"1\",block_size=\"10\",num_gpu_blocks=\"200\"} 1\n"
      "vllm:cache_config_info{engine=\"0\",block_size=\"10\",num_gpu_blocks=\"100\"} 1\n";
  const auto reading = read_vllm(two + pools, {.bytes_per_token = 1});
  ASSERT_TRUE(reading.ok()) << reading.error().message;
  EXPECT_DOUBLE_EQ(reading->used_bytes, 1000);
  EXPECT_DOUBLE_EQ(reading->total_bytes, 3000);
  EXPECT_DOUBLE_EQ(read_vllm(two, {.kv_bytes = 1000}).value().used_bytes, 375);
  refuses(read_vllm(two + pools.substr(0, pools.find('\n') + 1), {.bytes_per_token = 1}),
          Code::failed_precondition, "2 engines");
}

TEST(Memory, BeyondAllMemoryIsRefused) {
  const MemoryOptions named{
      .source = MemorySource::prometheus, .used_metric = "used", .total_metric = "total"};
  refuses(read_prometheus("used 1\ntotal 1e300\n", named), Code::data_loss, "cannot be true");
  refuses(read_prometheus("used 1\ntotal 9007199254740994\n", named), Code::data_loss, "1 bytes");
  refuses(read_vllm("vllm:kv_cache_usage_perc 0.5\nvllm:cache_config_info{block_size=\"1e200\","
                    "num_gpu_blocks=\"1e200\"} 1\n",
                    {.bytes_per_token = 1}),
          Code::data_loss, "cannot be true");
}

TEST(Memory, OfVllmThatCannotBeTrueIsRefused) {
  const MemoryOptions sized{.kv_bytes = 1000};
  for (const char* share : {"1.5", "-0.1", "NaN"})
    refuses(read_vllm(std::string("vllm:kv_cache_usage_perc ") + share + "\n", sized),
            Code::data_loss, "cannot be true");
  refuses(read_vllm("vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"0\"} 1\n",
                    {.bytes_per_token = 1}),
          Code::data_loss, "num_gpu_blocks");
  refuses(read_vllm(kVllm, {}), Code::failed_precondition, "--bytes-per-token");
  refuses(read_vllm("", sized), Code::failed_precondition, "vllm:kv_cache_usage_perc");
}

TEST(Memory, OfALoadReportIsWhatTheEngineTellsItsRuntime) {
  const std::string metrics =
      to_metrics({.kv_bytes_used = 400'000, .kv_bytes_wanted = 900'000}, 1'600'000);
  const auto reading = read_load_reports(metrics, {});
  ASSERT_TRUE(reading.ok()) << reading.error().message;
  EXPECT_DOUBLE_EQ(reading->used_bytes, 400'000);
  EXPECT_DOUBLE_EQ(reading->total_bytes, 1'600'000);
  EXPECT_DOUBLE_EQ(read_load_reports(metrics, {.kv_bytes = 2e6}).value().total_bytes, 2e6);
  refuses(read_load_reports(kVllm, {}), Code::failed_precondition, "aqua_engine_kv_bytes_used");
  EXPECT_EQ(parse_memory_source("aqua").value(), MemorySource::aqua);
}

const std::string kProps = R"({"total_slots": 2})";

TEST(Memory, OfLlamaIsWhatComputingSlotsHold) {
  const auto reading = read_llama(kProps,
                                  R"([{"n_ctx": 1000, "is_processing": true, "n_prompt_tokens": 100,
           "next_token": [{"n_decoded": 20}]},
          {"n_ctx": 1000, "is_processing": false, "n_prompt_tokens": 500}])",
                                  {.bytes_per_token = 10});
  ASSERT_TRUE(reading.ok()) << reading.error().message;
  EXPECT_DOUBLE_EQ(reading->used_bytes, 1200);
  EXPECT_DOUBLE_EQ(reading->total_bytes, 20'000);
}

TEST(Memory, OfALlamaSlotThatTellsNothingIsAllItHas) {
  const auto reading =
      read_llama(R"({})", R"([{"n_ctx": 1000, "is_processing": true}])", {.bytes_per_token = 10});
  ASSERT_TRUE(reading.ok());
  EXPECT_DOUBLE_EQ(reading->used_bytes, 10'000);
}

TEST(Memory, OfLlamaThatCannotBeTrueIsRefused) {
  const MemoryOptions sized{.bytes_per_token = 10};
  refuses(read_llama(kProps, R"([{"n_ctx": 0, "is_processing": true}])", sized), Code::data_loss,
          "n_ctx");
  refuses(read_llama(kProps, R"([{"n_ctx": 10, "is_processing": true}])", sized), Code::data_loss,
          "2 slots");
  refuses(read_llama(kProps, R"([1])", sized), Code::data_loss, "no slot");
  refuses(read_llama(kProps, "{}", sized), Code::failed_precondition, "--slots");
  refuses(read_llama(kProps, "[]", {}), Code::failed_precondition, "--bytes-per-token");
}

TEST(Memory, OfMetricsByName) {
  const MemoryOptions named{
      .source = MemorySource::prometheus, .used_metric = "used", .total_metric = "total"};
  EXPECT_DOUBLE_EQ(read_prometheus("used 5\ntotal 9\n", named).value().used_bytes, 5);
  refuses(read_prometheus("used 10\ntotal 9\n", named), Code::data_loss, "10 bytes used of 9");
  refuses(read_prometheus("total 9\n", named), Code::failed_precondition, "used");
}

}  // namespace
}  // namespace aqua::profiler
