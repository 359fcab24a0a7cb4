// SPDX-License-Identifier: Apache-2.0
#include "trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace aqua::example {
namespace {

using namespace std::chrono_literals;

const std::string kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
const std::string kRow = "2023-11-16 18:15:46.6805900,374,44\n";

Result<std::vector<TraceRequest>> read(const std::string& text, const TraceLimits& limits = {}) {
  std::istringstream in(text);
  return read_trace(in, limits);
}

void expect_error(const std::string& text, std::string_view message,
                  const TraceLimits& limits = {}) {
  const auto result = read(text, limits);
  ASSERT_FALSE(result.ok()) << text;
  EXPECT_EQ(result.error().code, Code::invalid_argument);
  EXPECT_NE(result.error().message.find(message), std::string::npos) << result.error().message;
}

TEST(Trace, ReadsArrivalsRelativeToTheFirstRequest) {
  const auto trace =
      read(kHeader + "2023-12-31 23:59:59.9999990,374,44\n" +
           "2024-01-01 00:00:00.5000009,396,109\n" + "2024-01-01 00:00:00.5000009,0,0\n");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(*trace,
            (std::vector<TraceRequest>{{0us, 374, 44}, {500'001us, 396, 109}, {500'001us, 0, 0}}));
}

TEST(Trace, ToleratesCarriageReturnsAndAMissingLastNewline) {
  const auto trace = read(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
      "2023-11-16 18:15:46.6805900,374,44\r\n"
      "2023-11-16 18:15:50.9951690,396,109");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(*trace, (std::vector<TraceRequest>{{0us, 374, 44}, {4'314'579us, 396, 109}}));
}

TEST(Trace, TheFirstRequestsAreTakenWithoutLookingAtTheRest) {
  const auto trace = read(kHeader + kRow + "damage", {.first_requests = 1});
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->size(), 1U);
}

TEST(Trace, WithoutTheHeaderNothingIsRead) {
  expect_error("", "line 1: expected the header");
  expect_error(kRow, "line 1: expected the header");
  expect_error("Timestamp,Request tokens\n" + kRow, "got 'Timestamp,Request tokens'");
}

TEST(Trace, AnEmptyTraceIsAnError) {
  expect_error(kHeader, "line 2: no request");
}

TEST(Trace, ErrorsNameLineColumnAndText) {
  expect_error(kHeader + kRow + "\n", "line 3: expected three columns, got ''");
  expect_error(kHeader + kRow + "2023-11-16 18:15:47.0000000,1\n",
               "line 3: expected three columns");
  expect_error(kHeader + kRow + "2023-11-16 18:15:47.0000000,1,2,3\n", "line 3: expected three");
  expect_error(kHeader + kRow + "2023-11-16 18:15:47.0000000,x,2\n",
               "line 3: ContextTokens is not a number from 0 to 10000000: 'x'");
  for (const char* bad : {"", "-1", "+1", "1.5", " 1", "1 ", "0x1", "10000001", "4294967297",
                          "99999999999999999999"}) {
    expect_error(kHeader + "2023-11-16 18:15:47.0000000,1," + bad + "\n",
                 "line 2: GeneratedTokens is not a number");
    expect_error(kHeader + "2023-11-16 18:15:47.0000000," + bad + ",1\n",
                 "line 2: ContextTokens is not a number");
  }
}

TEST(Trace, RefusesTimesThatDoNotExistOrHaveAnotherForm) {
  for (const char* bad :
       {"2023-02-29 00:00:00.0000000", "2023-13-01 00:00:00.0000000", "2023-00-01 00:00:00.0000000",
        "2023-11-31 00:00:00.0000000", "2023-11-00 00:00:00.0000000", "2023-11-16 24:00:00.0000000",
        "2023-11-16 18:60:00.0000000", "2023-11-16 18:15:60.0000000", "2023-11-16T18:15:46.6805900",
        "2023-11-16 18:15:46.680590", "2023-11-16 18:15:46.68059000", "2023-11-16 18:15:46",
        "2023-11-16 18:15:46.68059+0", "2o23-11-16 18:15:46.6805900", "-023-11-16 18:15:46.6805900",
        ""}) {
    expect_error(kHeader + bad + ",1,2\n", "line 2: TIMESTAMP is not a time of the form");
  }
}

TEST(Trace, RefusesRequestsOutOfOrder) {
  expect_error(kHeader + kRow + "2023-11-16 18:15:46.6805890,1,1\n",
               "line 3: arrives before the request above it");
}

TEST(Trace, RefusesLinesAndFilesThatGrowWithoutEnd) {
  expect_error(kHeader + std::string(1 << 20, '7'), "line 2: longer than 256 characters");
  expect_error(std::string(1 << 20, 'T'), "line 1: expected the header");
  expect_error(kHeader + kRow + kRow + kRow, "line 4: more than 2 requests", {.max_requests = 2});
}

TEST(Trace, ErrorTextsAreShortAndPrintableWhateverTheFileHolds) {
  const auto result = read(kHeader + std::string("\x01\x7f\xff\0,", 5) + std::string(100, '\t'));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::invalid_argument);
  EXPECT_LT(result.error().message.size(), 200U);
  for (const char c : result.error().message) EXPECT_TRUE(c >= ' ' && c <= '~');
}

TEST(Trace, AMissingFileIsNotFound) {
  const auto result = read_trace_file("no/such/file.csv");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::not_found);
}

double mean(const std::vector<TraceRequest>& trace, std::uint32_t TraceRequest::*field) {
  double sum = 0;
  for (const TraceRequest& r : trace) sum += r.*field;
  return sum / static_cast<double>(trace.size());
}

std::uint32_t percentile(const std::vector<TraceRequest>& trace, std::uint32_t TraceRequest::*field,
                         double q) {
  std::vector<std::uint32_t> values;
  for (const TraceRequest& r : trace) values.push_back(r.*field);
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

TEST(MakeTrace, HasTheShapeOfTheAzureTrace) {
  const auto trace = make_trace({.requests = 20'000});
  ASSERT_TRUE(trace.ok());
  ASSERT_EQ(trace->size(), 20'000U);
  EXPECT_EQ(trace->front().arrival, 0us);
  EXPECT_TRUE(std::is_sorted(
      trace->begin(), trace->end(),
      [](const TraceRequest& a, const TraceRequest& b) { return a.arrival < b.arrival; }));
  const double seconds = std::chrono::duration<double>(trace->back().arrival).count();
  EXPECT_NEAR(20'000 / seconds, 5.5, 0.15);
  EXPECT_NEAR(mean(*trace, &TraceRequest::prompt_tokens), 1155, 30);
  EXPECT_NEAR(percentile(*trace, &TraceRequest::prompt_tokens, 0.99), 4142, 250);
  EXPECT_LE(percentile(*trace, &TraceRequest::prompt_tokens, 1.0), 14'050U);
  EXPECT_NEAR(mean(*trace, &TraceRequest::output_tokens), 211, 10);
  EXPECT_LE(percentile(*trace, &TraceRequest::output_tokens, 1.0), 1000U);
  EXPECT_GE(percentile(*trace, &TraceRequest::output_tokens, 0.0), 7U);
}

TEST(MakeTrace, TheSameSeedGivesTheSameTraceAndAnotherSeedAnother) {
  EXPECT_EQ(*make_trace({.seed = 7}), *make_trace({.seed = 7}));
  EXPECT_NE(*make_trace({.seed = 7}), *make_trace({.seed = 8}));
  // A shorter trace is the beginning of a longer one.
  const auto longer = make_trace({.requests = 20});
  const auto shorter = make_trace({.requests = 10});
  EXPECT_TRUE(std::equal(shorter->begin(), shorter->end(), longer->begin()));
}

TEST(MakeTrace, RefusesShapesThatCannotBe) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double rate : {0.0, -1.0, nan, std::numeric_limits<double>::infinity(), 1e-300}) {
    const auto made = make_trace({.requests_per_second = rate});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Code::invalid_argument);
  }
  EXPECT_EQ(make_trace({.prompt = {.mean = 0}}).error().code, Code::invalid_argument);
  EXPECT_EQ(make_trace({.prompt = {.mean = 5, .min = 9, .max = 8}}).error().code,
            Code::invalid_argument);
  EXPECT_EQ(make_trace({.requests = std::numeric_limits<std::size_t>::max()}).error().code,
            Code::invalid_argument);
}

TEST(RealTrace, TheAzureConversationTraceReadsWholeAndAsDescribed) {
  const char* data = std::getenv("AQUA_DATA");
  if (data == nullptr) GTEST_SKIP() << "AQUA_DATA does not name a folder with the real traces";
  const auto path = std::filesystem::path(data) / "traces" / "azure_llm_inference_conv_2023.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const auto trace = read_trace_file(path);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->size(), 19'366U);
  EXPECT_EQ((*trace)[1], (TraceRequest{4'314'579us, 396, 109}));
  EXPECT_EQ(std::lround(mean(*trace, &TraceRequest::prompt_tokens)), 1155);
  EXPECT_EQ(std::lround(mean(*trace, &TraceRequest::output_tokens)), 211);
  EXPECT_EQ(percentile(*trace, &TraceRequest::prompt_tokens, 1.0), 14'050U);
  EXPECT_NEAR(std::chrono::duration<double>(trace->back().arrival).count(), 3501.7, 0.1);
}

}  // namespace
}  // namespace aqua::example
