// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/report/report.hpp"

#include <nlohmann/json.hpp>

#include "tests/tools/sim/ground.hpp"

namespace aqua::sim::test {
namespace {

Comparison small_comparison(const std::vector<std::uint64_t>& seeds = {1}) {
  const Ground ground = must(resolve(small_scenario(), {}));
  const Trace trace = mixed_trace(50);
  const auto make = [&](std::uint64_t seed) {
    return poisson(trace, {.requests = 40, .per_second = 10}, seed);
  };
  Comparison comparison =
      must(compare(ground, must(parse_policies("fcfs,cfs+aqua")), seeds, {}, make, {}));
  comparison.workload = "a <test> & so on";
  return comparison;
}

TEST(Report, JsonHasWhatScriptsRelyOn) {
  const auto json = nlohmann::json::parse(render_json(small_comparison()));
  for (const char* policy : {"fcfs", "cfs+aqua"}) {
    for (const char* field : {"ttft_p50_s", "ttft_p99_s", "tpot_mean_s", "latency_p99_s",
                              "makespan_s", "goodput_rps"}) {
      EXPECT_GT(json.at("policies").at(policy).at(field).get<double>(), 0) << policy << field;
    }
    EXPECT_FALSE(json.at("policies").at(policy).contains("confidence_95"));
  }
  EXPECT_EQ(json.at("sources").at(0).at("label"), "roofline");
}

TEST(Report, SeveralSeedsHaveConfidence) {
  const Comparison comparison = small_comparison({1, 2, 3});
  const auto json = nlohmann::json::parse(render_json(comparison));
  EXPECT_GT(json.at("policies").at("fcfs").at("confidence_95").at("ttft_p99_s").get<double>(), 0);
  EXPECT_NE(render_table(comparison).find("±"), std::string::npos);
}

TEST(Report, CsvHasARowPerRequestAndPolicy) {
  const std::string csv = render_csv(small_comparison());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * 40);
  const std::string header = csv.substr(0, csv.find('\n'));
  const std::string row =
      csv.substr(csv.find('\n') + 1, csv.find('\n', header.size() + 1) - header.size() - 1);
  EXPECT_EQ(std::count(header.begin(), header.end(), ','), std::count(row.begin(), row.end(), ','));
}

// One file, nothing from outside, both themes, all policies, and no markup from names.
TEST(Report, HtmlNeedsNothingElse) {
  const std::string html = render_html(small_comparison());
  EXPECT_EQ(html.find("http://"), std::string::npos);
  EXPECT_EQ(html.find("https://"), std::string::npos);
  EXPECT_EQ(html.find("src="), std::string::npos);
  EXPECT_EQ(html.find("<test>"), std::string::npos);
  for (const char* part :
       {"<svg", "prefers-color-scheme: dark", "cfs+aqua", "fcfs", "TTFT", "TPOT"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
}

Comparison waits(std::initializer_list<std::pair<const char*, double>> slowest) {
  Comparison comparison;
  for (const auto& [policy, seconds] : slowest) {
    Metrics metrics;
    metrics.ttft_p99_s = seconds;
    comparison.runs.push_back(
        {.policy = must(parse_policy(policy)), .outcome = {}, .metrics = {metrics}});
  }
  return comparison;
}

TEST(Report, TheVerdictNamesTheBestAndWhatItIsMeasuredAgainst) {
  EXPECT_EQ(
      verdict(waits({{"fcfs", 19.6}, {"cfs+dram", 4.1}, {"cfs+aqua", 3.9}, {"cfs+free", 2}})),
      "The slowest first tokens (p99) take 3.90 s with cfs+aqua, against 4.10 s with cfs+dram, "
      "19.60 s with fcfs and 2.00 s with cfs+free.");
  EXPECT_EQ(verdict(waits({{"fcfs", 2}, {"cfs+dram", 2.05}})),
            "The policies hardly differ: the slowest first tokens (p99) take 2.00 s.");
  EXPECT_EQ(verdict(waits({{"fcfs", 2}, {"cfs+free", 0.1}})),
            "The slowest first tokens (p99) take 2.00 s with fcfs, against 0.10 s with cfs+free.");
  EXPECT_EQ(verdict(waits({{"fcfs", 2}})), "With fcfs the slowest first tokens (p99) take 2.00 s.");
}

TEST(Report, BeginsWithTheVerdictAndSpeaksInWords) {
  const Comparison comparison = small_comparison();
  EXPECT_TRUE(render_table(comparison).starts_with(verdict(comparison)));
  const std::string html = render_html(comparison);
  EXPECT_NE(html.find("<h1>" + verdict(comparison)), std::string::npos);
  EXPECT_EQ(html.find("ttft_p99_s"), std::string::npos) << "that is JSON's name";
}

}  // namespace
}  // namespace aqua::sim::test
