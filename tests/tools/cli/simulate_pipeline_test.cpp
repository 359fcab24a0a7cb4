// SPDX-License-Identifier: Apache-2.0
// `aqua simulate --workload pipeline` as its users call it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/cli/trace_command.hpp"
#include "tools/cli/simulate/simulate_command.hpp"

namespace aqua::tool {
namespace {

using nlohmann::json;

std::string uneven_trace() {
  std::ostringstream out;
  out << "num_prefill_tokens,num_decode_tokens\n";
  for (int i = 0; i < 200; ++i) out << 400 + i * 5 << ',' << 20 + i * 37 % 40 * 10 << '\n';
  return out.str();
}

class SimulatePipeline : public TraceCommand {
 protected:
  SimulatePipeline() : TraceCommand(uneven_trace()) {}

  Result<std::string> run(const std::vector<std::string>& arguments) override {
    const std::vector<std::string> always{
        "--trace",  path("trace.csv"), "--workload", "pipeline", "--model",        "opt-66b",
        "--server", "a100x2",          "--requests", "128",      "--microbatches", "4,16"};
    auto options = parse_simulate(joined(always, arguments));
    if (!options.ok()) return std::move(options).error();
    return run_simulate(*options);
  }
  json json_of(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    return json::parse(run(arguments).value());
  }
};

TEST_F(SimulatePipeline, EveryPolicyServesTheSameTokensAndTheSameSeedGivesTheSameReport) {
  const std::vector<std::string> words{
      "--machines", "6", "--policies",
      "colocated,colocated+dp,disaggregated,disaggregated+dp,colocated+chunked"};
  const json report = json_of(words);
  const auto& policies = report.at("policies");
  ASSERT_EQ(policies.size(), 5U);
  for (const auto& [name, row] : policies.items()) {
    EXPECT_EQ(row.at("output_tokens"), policies.at("colocated").at("output_tokens")) << name;
    EXPECT_EQ(row.at("prompt_tokens"), policies.at("colocated").at("prompt_tokens")) << name;
    EXPECT_LE(row.at("busy_share").get<double>(), 1) << name;
    EXPECT_NEAR(row.at("machine_hours").get<double>(),
                row.at("makespan_s").get<double>() / 3600 * row.at("machines").get<double>(), 1e-9);
  }
  EXPECT_EQ(policies.at("colocated").at("streamed_bytes"), 0);
  EXPECT_GT(policies.at("disaggregated").at("streamed_bytes").get<double>(), 1e11);
  EXPECT_EQ(report, json_of(words));
}

TEST_F(SimulatePipeline, TheTimelineHasALaneForEachStageWithoutOverlap) {
  ASSERT_TRUE(run({"--machines", "4", "--all-machines", "--policies", "disaggregated", "--timeline",
                   path("t.json")})
                  .ok());
  const json file = json::parse(std::ifstream(path("t.json")));
  std::map<std::pair<int, int>, double> end;
  std::size_t lanes = 0;
  for (const json& event : file.at("traceEvents")) {
    if (event.at("ph") == "M") {
      if (event.at("name") == "thread_name") ++lanes;
      continue;
    }
    double& before = end[{event.at("pid"), event.at("tid")}];
    EXPECT_GE(event.at("ts").get<double>(), before - 1e-3);
    before = event.at("ts").get<double>() + event.at("dur").get<double>();
  }
  EXPECT_EQ(lanes, 4U);
  EXPECT_EQ(end.size(), 4U);
  (void)fails({"--timeline", path("no/such/folder.json")}, Code::not_found);
}

TEST_F(SimulatePipeline, EarlyStopsMakeItSlowerAndReplacingAtOnceFaster) {
  const auto makespan = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--machines", "4", "--all-machines", "--policies", "colocated",
                               "--microbatches", "16", "--requests", "512"});
    return json_of(words).at("policies").at("colocated").at("makespan_s").get<double>();
  };
  const double none = makespan({"--stops", "none"});
  const double request = makespan({"--stops", "request"});
  EXPECT_GT(makespan({"--stops", "microbatch"}), none * 1.05);
  EXPECT_GT(request, none * 1.2);
  EXPECT_LT(makespan({"--stops", "request", "--refill"}), request);
}

TEST_F(SimulatePipeline, RequestsMayComeOverTimeAndSeedsAndSweepsAreTaken) {
  const json sweep = json_of(
      {"--sweep", "rate=0.05,2", "--machines", "4", "--policies", "colocated", "--seeds", "2"});
  const auto latency = [&](std::size_t point) {
    return sweep.at("points")
        .at(point)
        .at("policies")
        .at("colocated")
        .at("normalised_latency_p50_s")
        .get<double>();
  };
  EXPECT_LT(latency(0) * 1.5, latency(1));
  EXPECT_TRUE(sweep["points"][0]["policies"]["colocated"].contains("confidence_95"));
  EXPECT_EQ(
      json_of({"--sweep", "machines=2,4", "--policies", "colocated"})["points"][1]["machines"], 4);
}

// The long answers come together: from where some seeds begin, the mean is far above the trace's.
TEST_F(SimulatePipeline, MemoryIsForTheLongestAnswerThatAnySeedPlays) {
  std::ofstream trace(path("trace.csv"), std::ios::app);
  for (int i = 0; i < 40; ++i) trace << "100,1500\n";
  trace.close();
  for (const char* stops : {"none", "microbatch"}) {
    const auto played = run({"--stops", stops, "--machines", "2", "--policies",
                             "colocated,disaggregated", "--microbatches", "8,16,32", "--requests",
                             "64", "--fixed-prompt", "400", "--seeds", "12"});
    EXPECT_TRUE(played.ok()) << stops << ": " << (played.ok() ? "" : played.error().message);
  }
}

TEST_F(SimulatePipeline, OutagesAreOfSplitsThatHaveTheStageAndInAnyOrder) {
  const auto policies = json_of({"--machines", "4", "--outages", "90:0:1,30:0:3"}).at("policies");
  EXPECT_EQ(policies.at("colocated").at("token").at("depth"), 4);
  EXPECT_GT(policies.at("colocated").at("down_s").get<double>(), 0);
  for (const char* policy : {"colocated+dp", "disaggregated"}) {
    EXPECT_NE(policies.at(policy).at("missing").get<std::string>().find("stages that fail"),
              std::string::npos)
        << policy;
  }
}

TEST_F(SimulatePipeline, MachinesFailByChanceWithTheSeedOfTheRun) {
  const std::vector<std::string> words{
      "--machines", "4", "--policies", "colocated,colocated+dp,disaggregated", "--mtbf", "100"};
  const json report = json_of(words);
  const json& policies = report.at("policies");
  EXPECT_GT(policies.at("colocated").at("outages").get<int>(), 0);
  EXPECT_GT(policies.at("colocated").at("down_s").get<double>(), 0);
  EXPECT_TRUE(policies.at("colocated+dp").contains("outages"));
  EXPECT_NE(policies.at("disaggregated").at("missing").get<std::string>().find("stages that fail"),
            std::string::npos);
  EXPECT_EQ(report.at("workload").at("mtbf_s"), 100);
  EXPECT_EQ(report, json_of(words));

  const auto colocated = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--machines", "4", "--policies", "colocated", "--microbatches", "4"});
    return json_of(more).at("policies").at("colocated");
  };
  const double none = colocated({})["makespan_s"];
  const double often = colocated({"--mtbf", "100"})["makespan_s"];
  EXPECT_GT(often, none);
  EXPECT_GT(colocated({"--mtbf", "100", "--recovery", "scratch"})["makespan_s"], often);
  EXPECT_EQ(colocated({"--mtbf", "1e9"})["makespan_s"], none);
  EXPECT_EQ(colocated({"--mtbf", "1e9", "--outages", "30:0:1"})["outages"], 1);
  EXPECT_TRUE(colocated({"--mtbf", "100", "--seeds", "3"}).contains("confidence_95"));
  const json never = colocated({"--mtbf", "1"});
  EXPECT_NE(never.at("missing").get<std::string>().find("machines fail too often"),
            std::string::npos);
}

TEST_F(SimulatePipeline, WhatSaysHowOutagesGoOnNeedsSome) {
  for (const char* word :
       {"--recovery=restore", "--recovery=scratch", "--detection=3", "--restart=3", "--load=3"}) {
    EXPECT_NE(fails({word}, Code::invalid_argument).find("give --outages"), std::string::npos)
        << word;
  }
  const std::vector<std::string> words{"--machines", "4",         "--policies",
                                       "colocated",  "--outages", "60:0:1"};
  std::vector<std::string> named = words;
  named.insert(named.end(), {"--recovery", "restore"});
  EXPECT_EQ(json_of(words), json_of(named)) << "what counts if nothing is given";
}

// Microbatches of 32 do not fit four machines, unless all but two of them are away.
TEST_F(SimulatePipeline, LargerMicrobatchesFitWhereTheyAreSwapped) {
  const auto colocated = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--machines", "4", "--all-machines", "--policies", "colocated",
                               "--microbatches", "32", "--stops", "none"});
    return json_of(words).at("policies").at("colocated");
  };
  EXPECT_TRUE(colocated({}).contains("missing"));
  const json host = colocated({"--swap", "may"});
  EXPECT_EQ(host.at("token").at("swapped"), json({{"host", 4}, {"lent", 0}}));
  EXPECT_GT(host.at("swapped_bytes").get<double>(), 1e12);
  const json lent = colocated({"--swap", "must", "--swap-lent-gb", "200"});
  EXPECT_EQ(lent.at("token").at("swapped").at("lent"), 4) << lent;
  EXPECT_LT(lent.at("makespan_s").get<double>(), host.at("makespan_s").get<double>());
  EXPECT_NE(
      fails({"--swap", "may", "--outages", "1:0:0"}, Code::invalid_argument).find("without --swap"),
      std::string::npos);
  EXPECT_NE(fails({"--swap", "may", "--mtbf", "600"}, Code::invalid_argument).find("--mtbf with"),
            std::string::npos);
  EXPECT_NE(fails({"--swap-lent-gb", "8"}, Code::invalid_argument).find("--swap may or must"),
            std::string::npos);
}

// The KV of 16 prompts is larger than each host here, that of 4 is not.
TEST_F(SimulatePipeline, ASplitWithoutHostMemoryIsLeftOut) {
  SimulateOptions preset;
  preset.preset = "a100x2";
  json server = json::parse(run_simulate(preset).value());
  server["host"]["gb"] = 3;
  std::ofstream(path("server.json")) << server;
  const auto row =
      json_of({"--machines", "6", "--policies", "disaggregated", "--server", path("server.json"),
               "--microbatches", "1,4,16", "--fixed-prompt", "400"})
          .at("policies")
          .at("disaggregated");
  EXPECT_GT(row.at("makespan_s").get<double>(), 0) << row;
}

TEST_F(SimulatePipeline, ASweepOfNamesHasTheNamesAndKeepsTheResults) {
  const json models = json_of({"--sweep", "model=opt-13b,opt-66b", "--policies", "colocated"});
  EXPECT_EQ(models.at("points").at(0).at("model"), "opt-13b");
  EXPECT_EQ(models.at("points").at(1).at("model"), "opt-66b");
  const json stops = json_of({"--sweep", "stops=none,request", "--policies", "colocated"});
  EXPECT_EQ(stops.at("points").at(1).at("stops"), "request");
  const json policies = json_of({"--sweep", "policies=colocated,disaggregated"});
  EXPECT_TRUE(policies.at("points").at(1).at("policies").contains("disaggregated"));
}

TEST_F(SimulatePipeline, WhatIsOfOneEngineIsRefusedAndTheOtherWayRound) {
  EXPECT_NE(fails({"--lent-gb", "80"}, Code::invalid_argument).find("--lent-gb is of one engine"),
            std::string::npos);
  EXPECT_NE(fails({"--burst", "3"}, Code::invalid_argument).find("--burst"), std::string::npos);
  EXPECT_NE(fails({"--prefix-cache"}, Code::invalid_argument).find("--prefix-cache"),
            std::string::npos);
  EXPECT_NE(fails({"--sweep", "lent-gb=10,80"}, Code::invalid_argument).find("--lent-gb"),
            std::string::npos);
  EXPECT_NE(fails({"--prompt", "1000"}, Code::invalid_argument).find("--fixed-prompt"),
            std::string::npos);
  for (const char* word : {"--outages=1:0:0", "--stops=none", "--policies=colocated",
                           "--machines=4", "--refill", "--mtbf=600", "--sweep=machines=2,4"}) {
    EXPECT_NE(fails({"--workload", "poisson", word}, Code::invalid_argument)
                  .find("machines in pipelines are --workload pipeline"),
              std::string::npos)
        << word;
  }
}

// The events of the timeline come pass by pass, or stage by stage.
TEST_F(SimulatePipeline, NoSkipPlaysStageByStageWithTheSameFigures) {
  const auto play = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--machines", "4", "--policies", "colocated", "--no-links",
                               "--timeline", path("t.json")});
    const json report = json_of(words);
    return std::pair(report, json::parse(std::ifstream(path("t.json"))).at("traceEvents"));
  };
  auto [skipped, at_once] = play({});
  auto [stepped, by_stage] = play({"--no-skip"});
  EXPECT_EQ(skipped, stepped);
  EXPECT_NE(at_once, by_stage);
  std::ranges::sort(at_once.get_ref<json::array_t&>());
  std::ranges::sort(by_stage.get_ref<json::array_t&>());
  EXPECT_EQ(at_once, by_stage);
}

TEST_F(SimulatePipeline, BadInputIsNamed) {
  EXPECT_NE(fails({"--policies", "fcfs"}, Code::invalid_argument).find("disaggregated+dp"),
            std::string::npos);
  EXPECT_NE(fails({"--policies", "disaggregated+chunked"}, Code::invalid_argument).find("+chunked"),
            std::string::npos);
  EXPECT_NE(fails({"--compare", "fcfs"}, Code::invalid_argument).find("--policies"),
            std::string::npos);
  EXPECT_NE(fails({"--server", "a100"}, Code::invalid_argument).find("network"), std::string::npos);
  EXPECT_NE(fails({"--requests", "1"}, Code::invalid_argument).find("at least 2"),
            std::string::npos);
  for (const char* mtbf : {"0", "nan", "-5", "often"}) {
    EXPECT_NE(fails({"--mtbf", mtbf}, Code::invalid_argument).find("number from 1 to"),
              std::string::npos)
        << mtbf;
  }
  EXPECT_NE(fails({"--microbatches", "64"}, Code::invalid_argument).find("32"), std::string::npos);
  EXPECT_NE(fails({"--rate", "0.000001"}, Code::invalid_argument).find("faster (--rate"),
            std::string::npos);
  EXPECT_NE(fails({"--policies", "colocated,colocated"}, Code::invalid_argument).find("twice"),
            std::string::npos);
  EXPECT_NE(fails({"--microbatches", "4,8,4"}, Code::invalid_argument)
                .find("a microbatch of 4 is named twice"),
            std::string::npos);
  const json none = json_of({"--machines", "1", "--policies", "disaggregated"});
  EXPECT_NE(none.at("policies")
                .at("disaggregated")
                .at("missing")
                .get<std::string>()
                .find("does not fit on 1 machine"),
            std::string::npos);
}

}  // namespace
}  // namespace aqua::tool
