// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/sim/ground.hpp"

namespace aqua::sim::test {
namespace {

std::string error_of(const Result<ModelSpec>& result) {
  return result.ok() ? "" : result.error().message;
}

TEST(Spec, EveryPresetCanBeRead) {
  std::size_t models = 0, servers = 0;
  for (const Preset& preset : presets()) {
    if (preset.kind == "model") {
      must(parse_model(preset.json));
      ++models;
    } else {
      must(parse_server(preset.json));
      ++servers;
    }
  }
  EXPECT_GE(models, 6u);
  EXPECT_GE(servers, 2u);
}

// 8.03 and 6.74 billion parameters, as their makers say.
TEST(Spec, WeightsAndKvAreThoseOfTheModels) {
  EXPECT_NEAR(must(load_model("llama-3-8b")).weight_bytes() / 2 / 8.03e9, 1, 0.005);
  EXPECT_NEAR(must(load_model("llama-2-7b")).weight_bytes() / 2 / 6.74e9, 1, 0.005);
  EXPECT_NEAR(must(load_model("llama-2-70b")).weight_bytes() / 2 / 68.98e9, 1, 0.005);
  EXPECT_EQ(must(load_model("llama-3-8b")).kv_bytes_per_token(), 131072);
}

TEST(Spec, ErrorsNameTheKey) {
  EXPECT_NE(error_of(parse_model("{}")).find("name is missing"), std::string::npos);
  EXPECT_NE(error_of(parse_model("[")).find("not JSON"), std::string::npos);
  const std::string good(presets()[0].json);
  EXPECT_NE(error_of(parse_model(R"({"name":"x","layers":0})")).find("layers"), std::string::npos);
  std::string typo(good);
  typo.replace(typo.find("\"vocab\""), 7, "\"vocap\"");
  EXPECT_NE(error_of(parse_model(typo)).find("voca"), std::string::npos);
  EXPECT_EQ(load_model("nobody").error().code, Code::not_found);
}

TEST(Spec, AModelThatDoesNotFitSaysWhatToDo) {
  Scenario scenario = small_scenario();
  scenario.kv_tokens.reset();
  scenario.model = must(load_model("llama-2-70b"));
  const auto ground = resolve(scenario, {});
  ASSERT_FALSE(ground.ok());
  EXPECT_EQ(ground.error().code, Code::failed_precondition);
}

TEST(PolicyNames, AreASchedulerAndAWayToPage) {
  EXPECT_EQ(must(parse_policy("cfs+aqua")).tier, Tier::peer);
  EXPECT_EQ(must(parse_policy("fcfs")).tier, Tier::host);
  EXPECT_EQ(must(parse_policy("las+aqua+blocks")).method, CopyMethod::per_block);
  for (const char* bad : {"", "cfs+", "nobody", "cfs+nvme", "cfs+aqua+", "fcfs,fcfs"}) {
    EXPECT_EQ(parse_policies(bad).error().code, Code::invalid_argument) << bad;
  }
}

}  // namespace
}  // namespace aqua::sim::test
