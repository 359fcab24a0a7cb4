// SPDX-License-Identifier: Apache-2.0
// `aqua plan` as its users call it: plans, errors, sweeps.
#include "tools/cli/plan/plan_command.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/cli/trace_command.hpp"

namespace aqua::tool {
namespace {

std::string planned_trace() {
  std::ostringstream out;
  out << "num_prefill_tokens,num_decode_tokens\n";
  for (int i = 0; i < 200; ++i) out << 400 + i * 5 << ',' << 20 + i % 40 * 10 << '\n';
  return out.str();
}

class PlanCommand : public TraceCommand {
 protected:
  PlanCommand() : TraceCommand(planned_trace()) {}

  Result<std::string> run(const std::vector<std::string>& arguments) override {
    const std::vector<std::string> always{"--trace", path("trace.csv"), "--simulated", "128"};
    auto options = parse_plan(joined(always, arguments));
    if (!options.ok()) return std::move(options).error();
    return run_plan(*options);
  }
};

TEST_F(PlanCommand, ThePlanIsTheFastestOfItsPoliciesAndSimulatedBeside) {
  const auto json = nlohmann::json::parse(
      run({"--prompt", "1000", "--requests", "4096", "--simulated", "4096", "--json"}).value());
  const double best = json.at("plan").at("seconds_per_request");
  for (const char* policy : {"colocated", "colocated+dp", "disaggregated", "disaggregated+dp"}) {
    const auto& row = json.at("policies").at(policy);
    EXPECT_GE(row.at("seconds_per_request").get<double>(), best) << policy;
    EXPECT_NEAR(row.at("simulated").at("equal_lengths_s").get<double>() /
                    row.at("seconds_per_request").get<double>(),
                1, 0.12)
        << policy;
    EXPECT_GT(row.at("simulated").at("own_lengths_s").get<double>(),
              row.at("simulated").at("own_lengths_refilled_s").get<double>());
  }
  EXPECT_EQ(json.at("prompt_tokens").at("longest"), 1000);
  EXPECT_EQ(run({"--json"}).value(), run({"--json"}).value());
}

TEST_F(PlanCommand, PlansForAsManyRequestsAsTheTraceHasUnlessToldOtherwise) {
  const auto planned = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--machines", "4", "--swap", "never", "--json"});
    return nlohmann::json::parse(run(words).value());
  };
  EXPECT_EQ(planned({}).at("requests"), 200);
  std::size_t fit = 0;
  for (int i = 0; i < 200; ++i) fit += 400 + i * 5 + 20 + i % 40 * 10 <= 600 ? 1U : 0U;
  ASSERT_GT(fit, 10U);
  EXPECT_EQ(planned({"--context", "600"}).at("requests"), fit);
  EXPECT_EQ(planned({"--requests", "0"}).at("requests"), 0);
  EXPECT_EQ(planned({"--requests", "0"}).at("simulated_requests"), 128);
  EXPECT_EQ(planned({"--requests", "64"}).at("simulated_requests"), 64);

  // Filling and draining pipelines makes few requests take longer, each, and is nothing for many.
  const auto seconds = [&](const char* requests, const char* policy) {
    const auto row =
        planned({"--requests", requests, "--simulated", "2"}).at("policies").at(policy);
    return row.at("seconds_per_request").get<double>();
  };
  for (const char* policy : {"colocated", "disaggregated"}) {
    EXPECT_GT(seconds("72", policy), seconds("0", policy)) << policy;
    EXPECT_NEAR(seconds("1000000", policy) / seconds("0", policy), 1, 0.01) << policy;
  }
}

TEST_F(PlanCommand, ExplainListsEverySplitAndWhyItLost) {
  const auto json = nlohmann::json::parse(run({"--machines", "4", "--explain", "--json"}).value());
  const auto& splits = json.at("splits");
  EXPECT_GT(splits.size(), 20U);
  EXPECT_EQ(splits.front().at("split"), json.at("plan").at("split"));
  for (std::size_t i = 1; i < splits.size(); ++i) {
    EXPECT_FALSE(splits[i].at("lost").get<std::string>().empty());
  }
  const std::string text = run({"--machines", "4", "--explain"}).value();
  EXPECT_NE(text.find(". The plan\n"), std::string::npos);
  EXPECT_EQ(text.find("4 machines: "), 0U) << "the answer comes first";
}

TEST_F(PlanCommand, SaysWhetherMicrobatchesAreToBeSwapped) {
  const auto json = nlohmann::json::parse(run({"--machines", "4", "--json"}).value());
  const auto& swapping = json.at("swapping");
  EXPECT_TRUE(swapping.at("split").at("token").contains("swapped"));
  EXPECT_FALSE(swapping.at("without").at("token").contains("swapped"));
  EXPECT_NEAR(swapping.at("gain").get<double>(),
              swapping.at("without").at("seconds_per_request").get<double>() /
                  swapping.at("split").at("seconds_per_request").get<double>(),
              1e-9);
  const bool pays = swapping.at("gain").get<double>() > 1;
  EXPECT_EQ(json.at("plan").at("token").contains("swapped"), pays) << "the plan is the faster one";
  EXPECT_NE(
      run({"--machines", "4"}).value().find(pays ? "Swapping pays: " : "Swapping does not pay: "),
      std::string::npos);
  EXPECT_EQ(run({"--machines", "4", "--swap", "never"}).value().find("Swapping"),
            std::string::npos);
  const auto must =
      nlohmann::json::parse(run({"--machines", "4", "--swap", "must", "--json"}).value());
  EXPECT_TRUE(must.at("policies").at("colocated").at("token").contains("swapped"));
}

// Steps of 50 ms whatever the microbatch, and neighbours that hold all of it.
TEST_F(PlanCommand, SwapsWhereLentMemoryIsFastEnough) {
  const std::vector<std::string> words{
      "--machines",     "4",  "--prompt", "400", "--times", "1:0.02:0.05,16:0.32:0.05,64:1.28:0.05",
      "--swap-lent-gb", "400"};
  const std::string text = run(words).value();
  EXPECT_NE(text.find("Swapping pays: "), std::string::npos) << text;
  EXPECT_NE(text.find(", swapped"), std::string::npos);
}

TEST_F(PlanCommand, ASweepHasAPointForEachNumberThatDoes) {
  const auto json = nlohmann::json::parse(
      run({"--sweep", "machines=1..4", "--json", "--model", "bloom-176b", "--server", "a100x4"})
          .value());
  ASSERT_EQ(json.at("points").size(), 3U) << "one machine does not hold it";
  EXPECT_EQ(json["points"][0].at("machines"), 2);
  const auto swept = [&](const char* machines) {
    return run({"--sweep", machines, "--json", "--model", "bloom-176b", "--server", "a100x4"});
  };
  EXPECT_EQ(swept("machines=2,1").value(), swept("machines=1,2").value());
  EXPECT_EQ(swept("machines=1").error().code, Code::resource_exhausted);
  EXPECT_NE(run({"--sweep", "machines=4,8"}).value().find("\n8 machines\n"), std::string::npos);
}

TEST_F(PlanCommand, TimesMayBeTheOperatorsOwn) {
  const auto json = nlohmann::json::parse(
      run({"--times", "1:0.4:0.04,16:6:0.05", "--json", "--price", "3.5"}).value());
  EXPECT_EQ(json.at("microbatches").size(), 2U);
  EXPECT_EQ(json.at("sources").at(0).at("label"), "given");
  const auto& plan = json.at("plan");
  EXPECT_NEAR(
      plan.at("cost_per_request").get<double>(),
      3.5 / 3600 * plan.at("machines").get<double>() * plan.at("seconds_per_request").get<double>(),
      1e-9);
}

// 1000 tokens of OPT-66B are 2.36 GB of KV: 0.47 s over 40 Gbit/s, more than these prompts take.
TEST_F(PlanCommand, GivenTimesAreBoundByTheNetworkToo) {
  const auto json = nlohmann::json::parse(
      run({"--prompt", "1000", "--times", "1:0.01:0.0001,16:0.1:0.0002", "--json"}).value());
  const auto& apart = json.at("policies").at("disaggregated");
  const double planned = apart.at("seconds_per_request");
  EXPECT_GT(planned, 0.47 / 7) << "seven machines at most compute prompts";
  EXPECT_LT(planned / apart.at("simulated").at("equal_lengths_s").get<double>(), 1.1);
  EXPECT_GT(planned / apart.at("simulated").at("equal_lengths_s").get<double>(), 0.7);
}

TEST_F(PlanCommand, BadInputIsNamedWithWhatWouldDo) {
  EXPECT_NE(fails({"--machines", "1", "--model", "bloom-176b"}, Code::resource_exhausted)
                .find("machine_bytes of "),
            std::string::npos);
  EXPECT_NE(fails({"--stream-overhead", "0.9"}, Code::invalid_argument).find("from 1 to"),
            std::string::npos);
  EXPECT_NE(fails({"--server", "h100"}, Code::invalid_argument).find("a100x2"), std::string::npos);
  EXPECT_NE(fails({"--times", "1:0.4"}, Code::invalid_argument).find("B:Y:T"), std::string::npos);
  EXPECT_NE(fails({"--times", "1:nan:0.1"}, Code::invalid_argument).find("number"),
            std::string::npos);
  EXPECT_NE(fails({"--times", "1:1000000:1000000"}, Code::invalid_argument).find("may take"),
            std::string::npos);
  EXPECT_NE(fails({"--times", "1:1:1,1:2:1"}, Code::invalid_argument).find("named twice"),
            std::string::npos);
  EXPECT_NE(fails({"--microbatches", "8,8"}, Code::invalid_argument).find("named twice"),
            std::string::npos);
  EXPECT_NE(fails({"--sweep", "machines=4..2"}, Code::invalid_argument).find("from 4 to 2"),
            std::string::npos);
  EXPECT_NE(fails({"--sweep", "rate=1"}, Code::invalid_argument).find("machines="),
            std::string::npos);
  EXPECT_NE(fails({"--prompt", "1900", "--context", "1900"}, Code::invalid_argument).find("longer"),
            std::string::npos);
  EXPECT_NE(fails({"--requests", "1"}, Code::invalid_argument).find("at least 2, or 0"),
            std::string::npos);
  EXPECT_NE(fails({"--lengths", "alpaca"}, Code::invalid_argument).find("one of"),
            std::string::npos);
  EXPECT_NE(fails({"--sweep", "machines=2,4", "--explain"}, Code::invalid_argument).find("one"),
            std::string::npos);
}

}  // namespace
}  // namespace aqua::tool
