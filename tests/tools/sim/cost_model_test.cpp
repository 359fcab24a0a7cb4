// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/cost/cost_model.hpp"

#include <filesystem>
#include <fstream>
#include <regex>

#include "tests/tools/sim/ground.hpp"
#include "tools/report/text.hpp"
#include "tools/sim/input/layer_profile.hpp"

namespace aqua::sim::test {
namespace {

TEST(CostModel, WithoutProfilesTheRooflineServesAndSaysSo) {
  const CostModel cost =
      must(CostModel::build(must(load_model("llama-3-8b")), must(load_server("a100")), {}));
  EXPECT_EQ(cost.sources()[0].label, "roofline");
  // One token: all weights are read once at 80 % of the peak.
  const ModelSpec model = must(load_model("llama-3-8b"));
  const double weights = model.layers * model.layer_weights() * 2;
  EXPECT_NEAR(seconds(cost.linear(1)) / (weights / (2039e9 * 0.8)), 1, 0.01);
  // 512 tokens: arithmetic at 70 % of the peak.
  const double operations = 2.0 * 512 * model.layers * model.layer_weights();
  EXPECT_NEAR(seconds(cost.linear(512)) / (operations / (312e12 * 0.7)), 1, 0.01);
}

TEST(CostModel, AMissingProfileIsNotFoundAndNamed) {
  const auto cost = CostModel::build(must(load_model("llama-3-8b")), must(load_server("a100")),
                                     {.profiles = "/nonexistent"});
  ASSERT_FALSE(cost.ok());
  EXPECT_EQ(cost.error().code, Code::not_found);
  EXPECT_NE(cost.error().message.find("a100_llama-3-8b"), std::string::npos);
}

TEST(CostModel, CostsNeverFallWithMoreWork) {
  const CostModel cost =
      must(CostModel::build(must(load_model("llama-3-8b")), must(load_server("a100")), {}));
  for (std::uint32_t n = 2; n <= 512; ++n) EXPECT_GE(cost.linear(n), cost.linear(n - 1));
  EXPECT_GT(cost.prefill_attention(512, 4096), cost.prefill_attention(512, 0));
  EXPECT_EQ(cost.head(0), 0);
}

TEST(CostModel, AMeasuredLinkTellsItsErrorInTenthsOfAPercent) {
  char pattern[] = "/tmp/aqua-link-XXXXXX";
  const std::string profiles = ::mkdtemp(pattern);
  std::filesystem::create_directories(profiles + "/network");
  std::ofstream csv(profiles + "/network/link.csv");
  csv << "time_stats.send_recv.median,size,devices_per_node\n";
  for (int i = 1; i <= 20; ++i)
    csv << 0.01 + i * 0.003 * (i % 3 == 0 ? 1.0317 : 1) << ',' << i * 1'000'000 << ",2\n";
  csv.close();
  LinkSpec link;
  link.fit = "link.csv";
  link.devices_per_node = 2;
  std::vector<Source> sources;
  (void)must(resolve_link(link, "NVLink", profiles, sources));
  std::filesystem::remove_all(profiles);
  EXPECT_TRUE(std::regex_search(
      sources.at(0).from,
      std::regex("off by [0-9]\\.?[0-9]? % in the mean, [0-9]\\.?[0-9]? % at the 90th")))
      << sources[0].from;
}

TEST(LayerProfile, AveragesRowsAndGoesLinearlyBetweenSizes) {
  std::string header, row;
  for (const char* part :
       {"input_layernorm", "attn_pre_proj", "attn_rope", "attn_post_proj",
        "post_attention_layernorm", "mlp_up_proj", "mlp_act", "mlp_down_proj", "add", "emb"}) {
    header += std::string("time_stats.") + part + ".median,";
  }
  header +=
      "n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,num_tokens,num_tensor_parallel_workers\n";
  const auto line = [](double ms, int tokens) {
    std::string out;
    for (int i = 0; i < 10; ++i) out += std::to_string(ms) + ",";
    return out + "8,8,64,128,100," + std::to_string(tokens) + ",1\n";
  };
  const std::string text = header + line(1, 10) + line(3, 10) + line(4, 20);
  const LayerProfile profile = must(LayerProfile::read(text, 1));
  EXPECT_NEAR(profile.layer_seconds(10), 2e-3 * 10, 1e-12);  // 8 parts and the addition twice
  EXPECT_NEAR(profile.layer_seconds(15), 3e-3 * 10, 1e-12);
  EXPECT_NEAR(profile.layer_seconds(40), 8e-3 * 10, 1e-12);  // in proportion
  EXPECT_NEAR(profile.embedding_seconds(20), 4e-3, 1e-12);
  EXPECT_EQ(LayerProfile::read(text, 2).error().code, Code::failed_precondition);
}

// How good is scaling a measured model to another by the roofline? Models that were measured on
// the same GPU predict each other.
TEST(CostModel, ScalingOneMeasuredModelToAnotherIsCloseInTheMean) {
  const auto profiles = data("profiles");
  if (profiles.empty()) GTEST_SKIP() << "AQUA_DATA is not set";
  ModelSpec own = must(load_model("llama-2-70b")), scaled = own;
  scaled.measured.clear();
  scaled.scaled["H100"] = {"h100_codellama-34b"};
  const ServerSpec server = must(load_server("h100"));
  const CostOptions options{.profiles = profiles, .max_batch_tokens = 512};
  const CostModel truth = must(CostModel::build(own, server, options));
  const CostModel guess = must(CostModel::build(scaled, server, options));
  double error = 0;
  for (std::uint32_t n = 1; n <= 512; ++n) {
    error +=
        std::abs(static_cast<double>(guess.linear(n)) / static_cast<double>(truth.linear(n)) - 1) /
        512;
  }
  RecordProperty("mean_error_percent", std::to_string(error * 100));
  EXPECT_LT(error, 0.1);
}

}  // namespace
}  // namespace aqua::sim::test
