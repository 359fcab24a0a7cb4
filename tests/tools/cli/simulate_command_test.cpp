// SPDX-License-Identifier: Apache-2.0
// `aqua simulate` as its users call it: options, errors, files.
#include "tools/cli/simulate/simulate_command.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/cli/trace_command.hpp"

namespace aqua::tool {
namespace {

std::string timed_trace() {
  std::ostringstream out;
  out << "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  for (int i = 10; i < 50; ++i) out << "2023-11-16 18:15:" << i << ".0," << i * 40 << ",20\n";
  return out.str();
}

class Simulate : public TraceCommand {
 protected:
  Simulate() : TraceCommand(timed_trace()) {}

  Result<std::string> run(const std::vector<std::string>& arguments) override {
    const std::vector<std::string> always{"--trace", path("trace.csv")};
    auto options = parse_simulate(joined(always, arguments));
    if (!options.ok()) return std::move(options).error();
    return run_simulate(*options);
  }
  static std::string content(const std::string& file) {
    std::ostringstream out;
    out << std::ifstream(file).rdbuf();
    return out.str();
  }
};

TEST_F(Simulate, ComparesTheDefaultPolicyWithTheOthers) {
  const auto told = nlohmann::json::parse(run({"--json"}).value());
  for (const char* policy : {"fcfs", "cfs+dram", "cfs+aqua", "auto+aqua", "cfs+free"}) {
    EXPECT_GT(told.at("policies").at(policy).at("goodput_rps").get<double>(), 0) << policy;
  }
  EXPECT_EQ(told.at("workload").at("requests"), 40);
}

TEST_F(Simulate, WritesTheFilesThatAreAskedFor) {
  const auto table =
      run({"--csv", path("r.csv"), "--html", path("r.html"), "--compare", "fcfs,las+aqua"});
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_NE(table->find("las+aqua"), std::string::npos);
  EXPECT_NE(content(path("r.csv")).find("las+aqua,39,"), std::string::npos);
  EXPECT_NE(content(path("r.html")).find("</html>"), std::string::npos);
  (void)fails({"--csv", path("no/such/folder.csv")}, Code::not_found);
}

TEST_F(Simulate, SweepsAndTakesWorkloadsAndSeeds) {
  const auto sweep = nlohmann::json::parse(run({"--sweep", "kv-tokens=4000,8000", "--workload",
                                                "burst", "--rate", "5", "--seeds", "2", "--json"})
                                               .value());
  ASSERT_EQ(sweep.at("points").size(), 2u);
  EXPECT_EQ(sweep["points"][1]["kv-tokens"], 8000);
  EXPECT_TRUE(sweep["points"][0]["policies"]["fcfs"].contains("confidence_95"));
}

TEST_F(Simulate, ALenderTakesItsMemoryBack) {
  const auto moved = [](const Result<std::string>& printed) {
    const auto told = nlohmann::json::parse(printed.value());
    return told.at("policies").at("cfs+aqua").at("totals").at("bytes_evacuated").get<double>();
  };
  const std::vector<std::string> load{"--workload",  "burst", "--rate", "20",
                                      "--kv-tokens", "3000",  "--json"};
  EXPECT_EQ(moved(run(load)), 0);
  std::vector<std::string> back = load;
  back.insert(back.end(), {"--lent-at", "2:0,3:1,4.5:0"});
  EXPECT_GT(moved(run(back)), 0);
  EXPECT_NE(fails({"--lent-gb", "5000"}, Code::invalid_argument).find("4000"), std::string::npos);
  EXPECT_NE(fails({"--lent-at", "5"}, Code::invalid_argument).find("SECONDS:GB"),
            std::string::npos);
  EXPECT_NE(fails({"--lent-at", "5:1,3:2"}, Code::invalid_argument).find("order"),
            std::string::npos);
  (void)fails({"--lent-at", "5:1", "--prefix-cache"}, Code::invalid_argument);
}

TEST_F(Simulate, LengthsMayBeDrawnByPublishedMeans) {
  const auto drawn = [](std::vector<std::string_view> words) {
    const auto options = parse_simulate(words);
    return options.ok() ? run_simulate(*options) : Result<std::string>(options.error());
  };
  const auto told = nlohmann::json::parse(
      drawn({"--lengths", "alpaca", "--workload", "poisson", "--rate", "2", "--requests", "20",
             "--compare", "fcfs", "--server", "gh200", "--model", "opt-13b", "--json"})
          .value());
  EXPECT_EQ(told.at("workload").at("requests"), 20);
  EXPECT_NE(told.dump().find("Alpaca: means of 19 and 58 tokens"), std::string::npos);
  EXPECT_NE(drawn({"--lengths", "alpaca"}).error().message.find("poisson"), std::string::npos);
  EXPECT_NE(drawn({"--lengths", "gsm8k", "--workload", "poisson"}).error().message.find("alpaca"),
            std::string::npos);
  EXPECT_NE(fails({"--lengths", "alpaca"}, Code::invalid_argument).find("one of them"),
            std::string::npos);
}

// Where host memory has no room for who would be swapped, nothing is thrown away for it: whoever is
// inside stays, and auto is no worse than first come, first served.
TEST_F(Simulate, HostMemoryMayHaveAnEnd) {
  const auto play = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--kv-tokens", "3000", "--compare", "fcfs,cfs+dram,auto+aqua",
                             "--workload", "burst", "--rate", "4", "--json"});
    return nlohmann::json::parse(run(more).value());
  };
  const auto goodput = [](const nlohmann::json& told, const char* policy) {
    return told.at("policies").at(policy).at("goodput_rps").get<double>();
  };
  const auto swaps = [](const nlohmann::json& told, const char* policy) {
    return told.at("policies").at(policy).at("totals").at("swaps_out").get<int>();
  };
  const auto endless = play({}), none = play({"--host-gb", "0"}), some = play({"--host-gb", "0.1"});
  EXPECT_TRUE(endless.at("host_bytes").is_null());
  EXPECT_EQ(some.at("host_bytes"), 1e8);
  for (const char* policy : {"cfs+dram", "auto+aqua"}) {
    EXPECT_GT(swaps(endless, policy), 0) << policy;
    EXPECT_EQ(swaps(none, policy), 0) << policy;
    EXPECT_LT(swaps(some, policy), swaps(endless, policy)) << policy;
    EXPECT_EQ(none.at("policies").at(policy).at("completed"),
              endless.at("policies").at("fcfs").at("completed"));
  }
  EXPECT_GE(goodput(none, "auto+aqua"), goodput(none, "fcfs"));
  (void)fails({"--host-gb", "-1"}, Code::invalid_argument);
}

TEST_F(Simulate, AutoMayBeToldHowLongEachAnswerWillBe) {
  const auto played = [](std::vector<std::string_view> words) {
    words.insert(words.end(),
                 {"--lengths", "alpaca", "--workload", "poisson", "--rate", "40", "--requests",
                  "200", "--kv-tokens", "2000", "--compare", "auto+aqua", "--json"});
    return nlohmann::json::parse(run_simulate(parse_simulate(words).value()).value());
  };
  const auto limits = played({}), known = played({"--known-answers"});
  EXPECT_EQ(limits.at("known_answers"), false);
  EXPECT_EQ(known.at("known_answers"), true);
  EXPECT_NE(limits.at("policies"), known.at("policies"));
}

TEST_F(Simulate, LayersAreSwappedAsFarAsIsAsked) {
  const std::vector<std::string> load{
      "--kv-tokens", "3000",      "--compare", "fcfs+ondemand,fcfs+pie",
      "--link-at",   "1:0.5,2:1", "--json"};
  const auto expansion = [&](std::vector<std::string> words, const char* policy) {
    words.insert(words.end(), load.begin(), load.end());
    const auto told = nlohmann::json::parse(run(words).value());
    return told.at("policies").at(policy).at("layers").at("expansion_mean").get<double>();
  };
  EXPECT_DOUBLE_EQ(expansion({}, "fcfs+ondemand"), 2);
  EXPECT_DOUBLE_EQ(expansion({"--expansion", "1.6"}, "fcfs+pie"), 1.6);
  (void)fails({"--expansion", "0.5"}, Code::invalid_argument);
  (void)fails({"--link-at", "5:0"}, Code::invalid_argument);
  EXPECT_NE(fails({"--link-at", "5"}, Code::invalid_argument).find("SECONDS:SHARE"),
            std::string::npos);
  EXPECT_NE(fails({"--compare", "cfs+pie"}, Code::invalid_argument).find("+ondemand"),
            std::string::npos);
}

TEST_F(Simulate, WhatIsOfLayersThatAreAwayIsRefusedWhereAllStay) {
  for (const std::vector<std::string>& asked : std::vector<std::vector<std::string>>{
           {"--expansion", "2"}, {"--link-at", "1:0.5"}, {"--sweep", "expansion=1,2"}}) {
    std::vector<std::string> words = asked;
    EXPECT_NE(fails(words, Code::invalid_argument).find("fcfs+pie"), std::string::npos);
    words.insert(words.end(), {"--compare", "cfs+aqua,fcfs+recompute"});
    (void)fails(words, Code::invalid_argument);
  }
  for (const char* workload : {"elastic", "long-prompt"}) {
    EXPECT_NE(fails({"--workload", workload, "--link-at", "1:0.5"}, Code::invalid_argument)
                  .find("without --compare"),
              std::string::npos);
  }
  EXPECT_TRUE(run({"--expansion", "auto", "--compare", "fcfs"}).ok());
}

TEST_F(Simulate, FindsAStableRateWhenNoneIsGiven) {
  const auto table = run({"--workload", "poisson", "--requests", "50"});
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_NE(table->find("Poisson arrivals at "), std::string::npos);
}

TEST_F(Simulate, LongPromptsAndLendersHaveTheirOwnTables) {
  const auto prompt = run({"--workload", "long-prompt", "--model", "opt-30b", "--prompt", "512"});
  ASSERT_TRUE(prompt.ok()) << prompt.error().message;
  EXPECT_EQ(prompt->find("A context in a neighbour's memory gives "), 0U) << *prompt;
  EXPECT_NE(prompt->find(" times as many.\n\nway "), std::string::npos) << *prompt;
  EXPECT_NE(prompt->find("closed form"), std::string::npos);
  const auto lending = run({"--workload", "elastic", "--rate", "2"});
  ASSERT_TRUE(lending.ok()) << lending.error().message;
  EXPECT_EQ(lending->find("The borrower's tokens/s: "), 0U) << *lending;
  EXPECT_NE(lending->find(" while the lender was busy, "), std::string::npos) << *lending;
  EXPECT_NE(lending->find("reclaims"), std::string::npos);
  EXPECT_NE(lending->find("linear parts: "), std::string::npos);
  (void)fails({"--workload", "elastic", "--seeds", "3"}, Code::invalid_argument);
}

TEST_F(Simulate, ModelsThatShareAGpuHaveTheirOwnTable) {
  const std::vector<std::string> share{"--share", "2", "--share-seconds", "30",
                                       "--rate",  "1", "--seeds",         "2"};
  const auto table = run(share);
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->find("2 models on one GPU, 1 requests/s"), 0U) << *table;
  for (const char* way : {"\ntemporal ", "\nfixed ", "\nfixed by popularity ", "\nby load "}) {
    EXPECT_NE(table->find(way), std::string::npos) << *table;
  }
  EXPECT_NE(table->find("assumed"), std::string::npos) << "where figures come from";
  std::vector<std::string> words = share;
  words.emplace_back("--json");
  const auto ways = nlohmann::json::parse(run(words).value()).at("ways");
  EXPECT_EQ(ways.size(), 4U);
  EXPECT_EQ(ways[3].at("seeds").size(), 2U);
  EXPECT_EQ(ways[3].at("seeds")[0].at("models").size(), 2U);
  EXPECT_NE(fails({"--share", "2", "--compare", "fcfs,cfs"}, Code::invalid_argument)
                .find("ways of its own"),
            std::string::npos);
  EXPECT_NE(fails({"--interference", "measured"}, Code::invalid_argument).find("give --share"),
            std::string::npos);
  (void)fails({"--share", "1"}, Code::invalid_argument);
  (void)fails({"--share", "16", "--model", "llama-2-70b"}, Code::failed_precondition);
}

TEST_F(Simulate, ModelsSideBySideAreSlowerAsMeasuredThanAsAssumed) {
  const auto told = [&](const char* interference) {
    return nlohmann::json::parse(run({"--share", "2", "--share-seconds", "60", "--rate", "6",
                                      "--interference", interference, "--json"})
                                     .value());
  };
  // The median time to the first token of the most popular model.
  const auto median = [](const nlohmann::json& all, std::size_t way) {
    return all.at("ways")[way].at("seeds")[0].at("models")[0].at("ttft_p50_s").get<double>();
  };
  const auto assumed = told("assumed"), measured = told("measured");
  EXPECT_EQ(measured.at("interference"), "measured");
  EXPECT_EQ(median(measured, 0), median(assumed, 0)) << "in turn nothing is side by side";
  EXPECT_GT(median(measured, 1), median(assumed, 1)) << "fixed parts";
}

TEST_F(Simulate, PacksRequestsOverEngines) {
  const std::vector<std::string> fleet{"--engines",   "6",   "--kv-tokens",      "4000",
                                       "--spare",     "1",   "--boot-seconds",   "2",
                                       "--watermark", "0.1", "--linger-seconds", "1"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), fleet.begin(), fleet.end());
    return more;
  };
  const auto told = nlohmann::json::parse(run(with({"--pack", "pack,wf", "--json", "--placements",
                                                    path("p"), "--html", path("f.html")}))
                                              .value());
  ASSERT_EQ(told.at("packers").size(), 2u);
  for (const auto& row : told["packers"]) {
    EXPECT_GT(row.at("gpu_hours").get<double>(), 0);
    EXPECT_EQ(row.at("seeds").size(), 1u);
  }
  EXPECT_EQ(content(path("p.pack")).rfind("epoch,request,gpu,tokens\n", 0), 0u);
  EXPECT_GT(content(path("p.wf")).size(), 100u);
  EXPECT_NE(content(path("f.html")).find("</html>"), std::string::npos);
  const auto table = run(with({"--pack", "bf", "--lend", "--speed", "4"}));
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_NE(table->find("lent GB h"), std::string::npos);
}

TEST_F(Simulate, APackersOptionsAreChecked) {
  const auto says = [&](const std::vector<std::string>& arguments, const char* what) {
    EXPECT_NE(fails(arguments, Code::invalid_argument).find(what), std::string::npos) << what;
  };
  says({"--pack", "best"}, "pack, mell");
  says({"--pack", "bf,bf"}, "twice");
  says({"--pack", "bf", "--lend", "--fixed-fleet"}, "always up");
  says({"--pack", "bf", "--engines", "2", "--spare", "3"}, "3 of 2");
  says({"--engines", "2"}, "--pack");
  says({"--placements", "p.csv"}, "--pack");
  says({"--pack", "bf,"}, "--pack");
  says({"--pack", "bf", "--free-moves", "--moves", "kv"}, "--free-moves");
  says({"--pack", "bf", "--lent-gb", "3"}, "--lent-gb");
  (void)fails({"--pack", "bf", "--placements", path("no/such/file")}, Code::not_found);
  says({"--pack", "bf", "--compare", "fcfs"}, "without --compare");
  says({"--pack", "bf", "--workload", "pipeline"}, "--pack");
}

TEST_F(Simulate, ErrorsSayWhatToDo) {
  EXPECT_NE(fails({"--compare", "fcfs,lifo"}, Code::invalid_argument).find("expected"),
            std::string::npos);
  EXPECT_NE(fails({"--pace", "3"}, Code::invalid_argument).find("--help"), std::string::npos);
  EXPECT_NE(fails({"--rate"}, Code::invalid_argument).find("needs a value"), std::string::npos);
  EXPECT_NE(fails({"--rate", "fast"}, Code::invalid_argument).find("expected"), std::string::npos);
  EXPECT_NE(fails({"--model", "gpt"}, Code::not_found).find("llama-3-8b"), std::string::npos);
  EXPECT_NE(fails({"--sweep", "nonsense=1"}, Code::invalid_argument).find("nonsense"),
            std::string::npos);
  for (const char* sla : {"0,0.1", "1,0", "1,nan", "inf,0.1"}) {
    EXPECT_NE(fails({"--sla", sla}, Code::invalid_argument).find("--sla"), std::string::npos)
        << sla;
  }
  EXPECT_NE(fails({"--sla", "1,0.000002"}, Code::failed_precondition)
                .find("a token cannot be met: a token of a single answer takes"),
            std::string::npos);
  EXPECT_NE(fails({"--sla", "0.000001,0.1"}, Code::failed_precondition)
                .find("the first token cannot be met: that of a prompt of one token takes"),
            std::string::npos);
  EXPECT_NE(fails({"--kv-tokens", "5"}, Code::invalid_argument).find("32"), std::string::npos);
  EXPECT_NE(fails({"--workload", "poisson", "--rate", "0.00001"}, Code::invalid_argument)
                .find("come over 3e+07 s"),
            std::string::npos);
  EXPECT_NE(fails({"--profiles", "/nonexistent"}, Code::not_found).find("a100_llama-3-8b"),
            std::string::npos);
  EXPECT_NE(fails({"--tensor-parallel", "1", "--model", "llama-2-70b"}, Code::failed_precondition)
                .find("more GPUs"),
            std::string::npos);
  (void)fails({"--trace", path("none")}, Code::not_found);
}

TEST_F(Simulate, PresetsCanBeShownAndUsedAsFiles) {
  const auto shown = run({"--show-preset", "yi-34b"});
  ASSERT_TRUE(shown.ok());
  std::ofstream(path("model.json")) << *shown;
  EXPECT_NE(run({"--model", path("model.json"), "--server", "h100"}).value().find("Yi-34B"),
            std::string::npos);
}

}  // namespace
}  // namespace aqua::tool
