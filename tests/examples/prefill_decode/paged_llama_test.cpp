// SPDX-License-Identifier: Apache-2.0
// The Llama forward over a paged cache: what it computes is llama.cpp's, and a row's logits are the
// same to the last bit however rows are put together. With a small model of random weights, which
// are not quantized: ggml multiplies a single row by those in another order.
#include "model/paged_llama.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "conversation.hpp"
#include "must.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/examples/prefill_decode/random_model.hpp"

namespace aqua::prefill_decode {
namespace {

using llama_example::Token;

constexpr std::uint32_t kBlocks = 64;

class PagedLlamaTest : public ::testing::Test {
 protected:
  // One block after another would not show a wrong table.
  PagedLlamaTest() : blocks_(kBlocks / 2) {
    for (std::uint32_t i = 0; i < blocks_.size(); ++i) blocks_[i] = (i * 37 + 5) % kBlocks;
  }

  [[nodiscard]] Layout layout() {
    const KvPoolShape kv = kv_shape(shape_, kBlocks);
    const std::size_t plane = kv.plane_block_bytes * kBlocks;
    memory_.resize(plane * 2 * shape_.layers);
    LayoutSpec spec{.layers = shape_.layers,
                    .planes_per_layer = 2,
                    .block_count = kBlocks,
                    .block_stride = kv.plane_block_bytes,
                    .axes = BlockAxes::whole(kv.plane_block_bytes)};
    for (std::size_t i = 0; i < 2 * shape_.layers; ++i) {
      spec.planes.push_back(memory_.data() + i * plane);
    }
    return Layout::make(std::move(spec)).value();
  }
  // Logits behind the whole prompt, computed in chunks of so many rows.
  [[nodiscard]] std::vector<float> logits(const std::vector<Token>& prompt, std::size_t chunk) {
    std::span<const float> last;
    for (std::size_t at = 0; at < prompt.size(); at += chunk) {
      std::vector<Row> rows;
      for (std::size_t i = at; i < std::min(prompt.size(), at + chunk); ++i) {
        rows.push_back({.token = prompt[i],
                        .position = static_cast<std::uint32_t>(i),
                        .blocks = blocks_,
                        .wanted = i + 1 == prompt.size()});
      }
      last = model_.run(rows);
    }
    return {last.begin(), last.end()};
  }

  const aqua::testing::TempDir directory_;
  const std::filesystem::path file_ = write_random_model(directory_ / "random.gguf");
  const LlamaShape shape_ = read_llama_shape(file_);
  std::vector<std::byte> memory_{};
  const Layout layout_ = layout();
  const Weights weights_{file_};
  PagedLlama model_{shape_, weights_, layout_, 512, 2};
  const llama_example::Model llama_{file_};
  std::vector<std::uint32_t> blocks_;
};

TEST_F(PagedLlamaTest, LogitsAreTheSameToTheLastBitInChunksOfAnySize) {
  const auto prompt = llama_example::make_prompt(llama_, 100, 1);
  const std::vector<float> whole = logits(prompt, 100);
  ASSERT_EQ(whole.size(), model_.vocabulary());
  for (const std::size_t chunk : {64U, 33U, 16U, 7U, 2U, 1U}) {
    EXPECT_EQ(logits(prompt, chunk), whole) << chunk << " rows at once";
  }
}

TEST_F(PagedLlamaTest, RowsOfOtherSequencesChangeNothing) {
  const auto prompt = llama_example::make_prompt(llama_, 60, 1);
  const std::vector<float> alone = logits(prompt, 60);
  // Another sequence in other blocks, whose rows are computed with this one's, both wanted.
  std::vector<std::uint32_t> others(blocks_.size());
  for (std::uint32_t i = 0; i < others.size(); ++i) others[i] = (i * 37 + 5 + 37 * 32) % kBlocks;
  const auto other = llama_example::make_prompt(llama_, 50, 9);
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 60; ++i) {
    rows.push_back({prompt[i], i, blocks_, i == 59});
    if (i < 50) rows.push_back({other[i], i, others, i == 49});
  }
  const auto both = model_.run(rows);
  const std::size_t n = model_.vocabulary();
  ASSERT_EQ(both.size(), 2 * n);
  EXPECT_EQ(std::vector<float>(both.begin() + static_cast<std::ptrdiff_t>(n), both.end()), alone);
}

TEST_F(PagedLlamaTest, SaysWhatLlamaCppSays) {
  llama_example::Engine engine(llama_, 1, 200, 1);
  for (unsigned seed = 0; seed < 8; ++seed) {
    const auto prompt = llama_example::make_prompt(llama_, 40 + 10 * seed, seed);
    const auto ours = logits(prompt, 256);
    const auto best = std::max_element(ours.begin(), ours.end()) - ours.begin();
    EXPECT_EQ(best, engine.decode(0, 0, prompt).token) << "prompt " << seed;
    engine.drop(0);
  }
}

TEST_F(PagedLlamaTest, WhatIsNoModelIsRefused) {
  EXPECT_THROW((void)read_llama_shape(directory_ / "nothing"), example::Failure);
  EXPECT_THROW((void)weights_.get("blk.99.attn_q.weight"), example::Failure);
  EXPECT_EQ(weights_.find("blk.99.attn_q.weight"), nullptr);
  EXPECT_THROW((void)model_.run({}), example::Failure);
}

}  // namespace
}  // namespace aqua::prefill_decode
