// SPDX-License-Identifier: Apache-2.0
// `aqua simulate --calibrate --predict` as its users call it, on recordings of an engine whose
// iterations take 10 ms and 1 ms a token.
#include "tools/cli/simulate/simulate_calibration.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/cli/simulate/simulate_command.hpp"

namespace aqua::tool {
namespace {

using nlohmann::json;

class Calibration : public ::testing::Test {
 protected:
  Calibration() {
    char pattern[] = "/tmp/aqua-calibration-XXXXXX";
    directory_ = ::mkdtemp(pattern);
  }
  ~Calibration() override { std::filesystem::remove_all(directory_); }

  // Ten requests far apart, of 5 prompt tokens and 11 generated: each takes 15 ms, then 10 times
  // 11 ms.
  static json recording() {
    json made{{"format", "aqua-recording-1"},
              {"engine", "made up"},
              {"policy", "fcfs"},
              {"kv_bytes_per_token", 1000},
              {"kv_step_tokens", 1},
              {"scheduler",
               {{"budget_tokens", 16},
                {"slice_iterations", 4},
                {"min_prefill_tokens", 4},
                {"block_tokens", 4},
                {"device_blocks", 100},
                {"max_sequences", 0}}},
              {"requests", json::array()},
              {"iterations", json::array()},
              {"copies", json::array()}};
    for (int i = 0; i < 10; ++i) {
      made["requests"].push_back({i, 5, 11, i + 0.015, i + 0.125});
      made["iterations"].push_back({0.015, 5, 1, 0, 15, 5});
      for (int k = 0; k < 10; ++k) made["iterations"].push_back({0.011, 1, 1, 6 + k, 0, 6 + k});
    }
    return made;
  }
  std::string write(const char* name, const json& made) {
    const std::string path = directory_ / name;
    std::ofstream(path) << made.dump();
    return path;
  }
  static Result<std::string> run(const std::vector<std::string>& arguments) {
    const std::vector<std::string_view> all(arguments.begin(), arguments.end());
    auto options = parse_simulate(all);
    if (!options.ok()) return std::move(options).error();
    return run_simulate(*options);
  }

  std::filesystem::path directory_;
};

TEST_F(Calibration, PredictsWhatWasMeasuredWhereTheCostsExplainIt) {
  const std::string file = write("r.json", recording());
  const auto printed = run({"--calibrate", file, "--predict", file + "," + file, "--json"});
  ASSERT_TRUE(printed.ok()) << printed.error().message;
  const json result = json::parse(*printed);
  ASSERT_EQ(result.at("predictions").size(), 2U);
  for (const char* key : {"ttft_mean_s", "ttft_p99_s", "tpot_mean_s"}) {
    const json& row = result["predictions"][0].at(key);
    EXPECT_NEAR(row.at("off_percent").get<double>(), 0, 1) << key;
    EXPECT_GT(row.at("measured").get<double>(), 0) << key;
  }
  EXPECT_LT(result.at("calibration").at("error_mean").get<double>(), 0.01);
}

TEST_F(Calibration, HasATableOfMeasuredBesidePredicted) {
  const std::string file = write("r.json", recording());
  const auto table = run({"--calibrate", file, "--predict", file});
  ASSERT_TRUE(table.ok()) << table.error().message;
  for (const char* part : {"made up", "TTFT p99", "predicted s", "0 out"}) {
    EXPECT_NE(table->find(part), std::string::npos) << part << "\n" << *table;
  }
}

TEST_F(Calibration, ACostThatWasNeverSeenIsNotPredicted) {
  json pages = recording();
  pages["copies"].push_back({0.001, 4000, 1});
  const std::string none = write("none.json", recording()), some = write("some.json", pages);
  const auto refused = run({"--calibrate", none, "--predict", some});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::failed_precondition);
  EXPECT_NE(refused.error().message.find(some), std::string::npos) << refused.error().message;
  EXPECT_TRUE(run({"--calibrate", some, "--predict", none}).ok());
}

TEST_F(Calibration, ErrorsNameTheFileOrTheOption) {
  const std::string file = write("r.json", recording());
  const auto fails = [](const std::vector<std::string>& arguments, Code code) {
    const auto result = run(arguments);
    EXPECT_FALSE(result.ok());
    if (result.ok()) return std::string();
    EXPECT_EQ(to_string(result.error().code), to_string(code)) << result.error().message;
    return result.error().message;
  };
  EXPECT_NE(fails({"--predict", file}, Code::invalid_argument).find("--calibrate"),
            std::string::npos);
  EXPECT_NE(fails({"--calibrate", "/none.json"}, Code::not_found).find("/none.json"),
            std::string::npos);
  json few = recording();
  few["iterations"].erase(few["iterations"].begin() + 50, few["iterations"].end());
  EXPECT_NE(fails({"--calibrate", write("few.json", few)}, Code::failed_precondition).find("100"),
            std::string::npos);
  json lifo = recording();
  lifo["policy"] = "lifo";
  (void)fails({"--calibrate", file, "--predict", write("lifo.json", lifo)}, Code::invalid_argument);
}

}  // namespace
}  // namespace aqua::tool
