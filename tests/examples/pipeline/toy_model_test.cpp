// SPDX-License-Identifier: Apache-2.0
#include "model/toy_model.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace aqua::pipeline {
namespace {

constexpr unsigned kLayer = 3;
constexpr std::uint32_t kTokens = 21;

// One layer's keys and values of one part of the heads, in host memory.
class Cache {
 public:
  Cache(const ModelShape& model, const Part& part, unsigned tokens_per_block, bool heads_first)
      : model_(model), part_(part) {
    const std::size_t head = model.head_bytes, heads = part.kv_heads.count;
    const std::size_t block = tokens_per_block * heads * head;
    for (std::uint32_t at = 0; at < kTokens; at += tokens_per_block)
      blocks_.insert(blocks_.begin(), static_cast<std::uint32_t>(blocks_.size()));  // backwards
    keys_.resize(blocks_.size() * block);
    values_.resize(keys_.size());
    planes_ = {.keys = keys_.data(),
               .values = values_.data(),
               .block_stride = block,
               .token_stride = heads_first ? head : heads * head,
               .head_stride = heads_first ? tokens_per_block * head : head,
               .tokens_per_block = tokens_per_block,
               .blocks = blocks_};
  }
  // What the layer's part adds up to for the last token, once all are written.
  Hidden run() {
    for (std::uint32_t t = 0; t < kTokens; ++t)
      write_kv(model_, part_, kLayer, planes_, t, embed(prompt_token(1, t)));
    return last();
  }
  [[nodiscard]] Hidden last() const {
    return attend(model_, part_, kLayer, planes_, kTokens - 1, embed(prompt_token(1, kTokens - 1)));
  }
  [[nodiscard]] std::byte& key(std::uint32_t token, unsigned head, unsigned byte) {
    return keys_[planes_.offset(token, head) + byte];
  }
  [[nodiscard]] std::byte& value(std::uint32_t token, unsigned head, unsigned byte) {
    return values_[planes_.offset(token, head) + byte];
  }

 private:
  const ModelShape model_;
  const Part part_;
  std::vector<std::uint32_t> blocks_{};
  std::vector<std::byte> keys_{}, values_{};
  KvPlanes planes_{};
};

const ModelShape kToyModel;
const Part kAll = part_of(kToyModel, {1, 1}, 0, 0);

TEST(ToyModel, PartsOfTheHeadsAddUpToAllOfThem) {
  const Hidden whole = Cache(kToyModel, kAll, 16, false).run();
  for (const unsigned ranks : {2U, 3U, 6U, 12U}) {  // of 12 ranks two have each KV head
    Hidden sum{};
    for (unsigned rank = 0; rank < ranks; ++rank)
      add(sum, Cache(kToyModel, part_of(kToyModel, {1, ranks}, 0, rank), 16, false).run());
    EXPECT_EQ(sum, whole) << ranks << " ranks";
  }
}

TEST(ToyModel, WhereTheBytesLieDoesNotMatter) {
  const Hidden wanted = Cache(kToyModel, kAll, 16, false).run();
  EXPECT_EQ(Cache(kToyModel, kAll, 5, false).run(), wanted);
  EXPECT_EQ(Cache(kToyModel, kAll, 5, true).run(), wanted);
  EXPECT_EQ(Cache(kToyModel, kAll, 1, true).run(), wanted);
}

TEST(ToyModel, EachWrongBitOfAnyKeyOrValueChangesTheSum) {
  Cache cache(kToyModel, kAll, 4, false);
  const Hidden right = cache.run();
  for (std::uint32_t token = 0; token < kTokens; ++token) {
    for (unsigned head = 0; head < kToyModel.kv_heads; ++head) {
      for (unsigned byte = 0; byte < kToyModel.head_bytes; ++byte) {
        for (std::byte* const each :
             {&cache.key(token, head, byte), &cache.value(token, head, byte)}) {
          const std::byte bit{static_cast<unsigned char>(1U << (token + byte) % 8)};
          *each ^= bit;
          ASSERT_NE(cache.last(), right) << token << ", " << head << ", " << byte;
          *each ^= bit;
        }
      }
    }
  }
  EXPECT_EQ(cache.last(), right);
}

TEST(ToyModel, BytesThatChangedPlacesChangeTheSum) {
  Cache cache(kToyModel, kAll, 4, false);
  const Hidden right = cache.run();
  const auto differs_after = [&](std::byte& a, std::byte& b) {
    if (a == b) return true;  // nothing to be seen
    std::swap(a, b);
    const bool differs = cache.last() != right;
    std::swap(a, b);
    return differs;
  };
  for (std::uint32_t token = 0; token + 1 < kTokens; ++token) {
    for (unsigned byte = 0; byte + 1 < kToyModel.head_bytes; ++byte) {
      EXPECT_TRUE(differs_after(cache.key(token, 2, byte), cache.key(token + 1, 2, byte)));
      EXPECT_TRUE(differs_after(cache.key(token, 2, byte), cache.key(token, 2, byte + 1)));
      EXPECT_TRUE(differs_after(cache.key(token, 2, byte), cache.value(token, 2, byte)));
      EXPECT_TRUE(differs_after(cache.key(token, 2, byte), cache.key(token, 3, byte)));
    }
  }
}

TEST(ToyModel, SamplingDependsOnSeedPositionAndActivationAlone) {
  const Hidden last = embed(7);
  EXPECT_EQ(sample(last, 1, 5), sample(last, 1, 5));
  EXPECT_NE(sample(last, 1, 5), sample(last, 1, 6));
  EXPECT_NE(sample(last, 1, 5), sample(last, 2, 5));
  EXPECT_NE(sample(last, 1, 5), sample(embed(8), 1, 5));
}

}  // namespace
}  // namespace aqua::pipeline
