// SPDX-License-Identifier: Apache-2.0
#include <tuple>

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

// 12.9, 13.0 and 30.0 billion parameters; Pie, 2.2, has 800 KiB of KV a token for OPT-13B.
TEST(Spec, TheModelsOfPieAreTheirMakers) {
  EXPECT_NEAR(must(load_model("opt-13b")).weight_bytes() / 2 / 12.9e9, 1, 0.03);
  EXPECT_NEAR(must(load_model("llama-13b")).weight_bytes() / 2 / 13.0e9, 1, 0.005);
  EXPECT_NEAR(must(load_model("opt-30b")).weight_bytes() / 2 / 30.0e9, 1, 0.02);
  EXPECT_EQ(must(load_model("opt-13b")).kv_bytes_per_token(), 800 * 1024);
}

// 66 and 176 billion parameters; the paper's 40 and 32 Gbit/s.
TEST(Spec, TheModelsAndMachinesOfDejaVuAreTheirMakers) {
  EXPECT_NEAR(must(load_model("opt-66b")).weight_bytes() / 2 / 66e9, 1, 0.01);
  EXPECT_NEAR(must(load_model("bloom-176b")).weight_bytes() / 2 / 176.2e9, 1, 0.03);
  EXPECT_EQ(must(load_model("opt-66b")).kv_bytes_per_token(), 64 * 36'864);
  for (const auto& [name, gpus, gbit_s] :
       {std::tuple{"a100x2", 2U, 40.0}, {"a100x4", 4U, 40.0}, {"v100x4", 4U, 32.0}}) {
    const ServerSpec machine = must(load_server(name));
    EXPECT_EQ(machine.gpus, gpus);
    EXPECT_EQ(machine.network.value().in_bytes_per_second * 8 / 1e9, gbit_s);
    EXPECT_GT(machine.host_bytes, 400e9);
    for (const std::string& source : {machine.network->source, machine.host_source}) {
      EXPECT_EQ(source.find("quoted: "), 0U) << source;
    }
  }
  EXPECT_FALSE(must(load_server("a100")).network.has_value());
}

TEST(Spec, ALinkMayBeSlowerOneWay) {
  const ServerSpec gh200 = must(load_server("gh200"));
  EXPECT_EQ(gh200.pcie.in_bytes_per_second, 419e9);
  EXPECT_EQ(gh200.pcie.out_bytes_per_second, 371e9);
  EXPECT_EQ(gh200.nvlink.in_bytes_per_second, gh200.nvlink.out_bytes_per_second);
  EXPECT_NEAR(gh200.pcie.one_way_seconds(400e9), (400.0 / 419 + 400.0 / 371) / 2, 1e-12);

  Scenario scenario = small_scenario();
  scenario.server = gh200;
  const Ground ground = must(resolve(scenario, {}));
  for (const auto& [out, gb_s] : {std::pair{true, 371.0}, std::pair{false, 419.0}}) {
    Network network;
    const PortLinks own = add_gpu(network, "a", ground), other = add_gpu(network, "b", ground);
    Network::Transfer copy =
        paging_of(ground, PagingMethod::gathered, own, other).transfer(Tier::host, out, gb_s * 1e9);
    copy.delay = 0;
    network.start(copy, 0);
    EXPECT_NEAR(seconds(network.next_change()), 1, 1e-9) << (out ? "out" : "in");
  }
  std::string slow(R"({"name": "x", "nvlink": {"latency_us": 1, "gb_s": 1, "source": ""},
      "pcie": {"latency_us": 1, "gb_s": 1, "gb_s_out": 0, "source": ""}})");
  EXPECT_NE(parse_server(slow).error().message.find("gb_s_out"), std::string::npos);
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
  EXPECT_EQ(must(parse_policy("las+aqua+blocks")).method, PagingMethod::per_block);
  EXPECT_EQ(must(parse_policy("fcfs+pie+aqua")).tier, Tier::peer);
  EXPECT_EQ(must(parse_policy("fcfs+pie")).layers, LayerMode::overlapped);
  EXPECT_TRUE(must(parse_policy("fcfs+recompute")).recompute);
  for (const char* bad : {"", "cfs+", "nobody", "cfs+nvme", "cfs+aqua+", "fcfs,fcfs"}) {
    EXPECT_EQ(parse_policies(bad).error().code, Code::invalid_argument) << bad;
  }
}

}  // namespace
}  // namespace aqua::sim::test
