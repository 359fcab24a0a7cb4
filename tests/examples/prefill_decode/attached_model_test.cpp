// SPDX-License-Identifier: Apache-2.0
// llama.cpp over weights that a keeper has: what it says is what it says with the file, and its
// tensors lie where the weights are mapped.
#include "attached_model.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "aqua/sharing/load_weights.hpp"
#include "conversation.hpp"
#include "must.hpp"
#include "tests/base/open_emulated.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/examples/prefill_decode/random_model.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua::prefill_decode {
namespace {

using llama_example::Model;
using llama_example::Token;

class AttachedModelTest : public ::testing::Test {
 protected:
  void load(const std::filesystem::path& file, const std::string& version) {
    const auto loaded =
        sharing::load_weights(runtime_, {file.string()},
                              {.model = "random", .version = version, .keeper = keeper_.socket()});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  }
  [[nodiscard]] std::shared_ptr<sharing::SharedWeights> attach() {
    return std::make_shared<sharing::SharedWeights>(test::must(
        sharing::SharedWeights::attach(runtime_, {.model = "random", .keeper = keeper_.socket()})));
  }
  // Hashes of all logits behind a prompt and behind each of some tokens more.
  [[nodiscard]] static std::vector<std::uint64_t> logits(const Model& model) {
    llama_example::Engine engine(model, 1, 100, 1);
    const std::vector<Token> prompt = llama_example::make_prompt(model, 60, 1);
    std::vector<std::uint64_t> hashes;
    auto next = engine.decode(0, 0, prompt);
    for (unsigned past = 60; past < 70; ++past) {
      hashes.push_back(next.logits_hash);
      next = engine.decode(0, past, std::span(&next.token, 1));
    }
    return hashes;
  }

  const aqua::testing::TempDir directory_;
  const std::filesystem::path file_ = write_random_model(directory_ / "random.gguf");
  const std::filesystem::path other_ = write_random_model(directory_ / "other.gguf", "2");
  test::KeeperProcess keeper_;
  Runtime runtime_ = test::open_emulated(64 << 20, 2 << 20);
};

TEST_F(AttachedModelTest, SaysToTheLastBitWhatTheModelOfTheFileSays) {
  load(file_, "1");
  EXPECT_EQ(logits(llama_example::attached_model(file_, attach())), logits(Model(file_)));
}

// Its addresses stay, and another version is mapped there.
TEST_F(AttachedModelTest, FollowsItsWeightsToAnotherVersionInPlace) {
  load(file_, "1");
  const auto weights = attach();
  const Model model = llama_example::attached_model(file_, weights);
  ASSERT_EQ(logits(model), logits(Model(file_)));
  load(other_, "2");
  ASSERT_TRUE(weights->suspend().ok());
  const auto resumed = weights->resume();
  ASSERT_TRUE(resumed.ok()) << resumed.error().message;
  EXPECT_EQ(logits(model), logits(Model(other_)));
}

TEST_F(AttachedModelTest, OfWeightsThatAreNotTheFilesIsRefused) {
  const std::string strange = directory_ / "strange.safetensors";
  const std::string header =
      R"({"token_embd.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const auto length = static_cast<std::uint64_t>(header.size());
  std::ofstream file(strange, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header << std::string(4, '\0');
  file.close();
  load(strange, "1");
  EXPECT_THROW((void)llama_example::attached_model(file_, attach()), example::Failure);
}

}  // namespace
}  // namespace aqua::prefill_decode
