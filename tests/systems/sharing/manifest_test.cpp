// SPDX-License-Identifier: Apache-2.0
#include "aqua/sharing/manifest.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>

namespace aqua::sharing {
namespace {

// A fused tensor of 96 x 64 halves with two views, one of quantised blocks, and a scalar.
Manifest example_manifest() {
  Manifest manifest{.model = "smollm2", .version = "1"};
  manifest.slabs = {8192, 8192};
  manifest.types = {{.name = "F16", .elements = 1, .bytes = 2},
                    {.name = "Q4_0", .elements = 32, .bytes = 18}};
  manifest.tensors = {
      {.name = "qkv", .type = 0, .shape = {96, 64}, .strides = {128, 2}, .digest = {{1, 2, 0xff}}},
      {.name = "q", .type = 0, .shape = {32, 64}, .strides = {128, 2}, .view_of = 0},
      {.name = "heads",
       .type = 0,
       .shape = {48, 64},
       .strides = {256, 2},
       .offset = 128,
       .view_of = 0},
      {.name = "ffn", .type = 1, .shape = {4, 64}, .strides = {36, 18}, .offset = 12288},
      {.name = "scale", .type = 0, .offset = 12288 + 144}};
  return manifest;
}

::testing::AssertionResult not_taken(const Manifest& manifest, const std::string& why) {
  const Result<void> checked = check(manifest);
  if (checked.ok()) return ::testing::AssertionFailure() << "taken";
  if (checked.error().code == Code::invalid_argument &&
      checked.error().message.find(why) != std::string::npos)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << checked.error().message;
}

TEST(Manifest, SaysWhereTensorsLie) {
  const Manifest manifest = example_manifest();
  ASSERT_TRUE(check(manifest).ok()) << check(manifest).error().message;
  EXPECT_EQ(slab_bytes(manifest), 16384U);
  EXPECT_EQ(tensor_bytes(manifest, manifest.tensors[0]), 12288U) << "over both slabs";
  EXPECT_EQ(tensor_bytes(manifest, manifest.tensors[2]), 12288U - 128) << "every other row";
  EXPECT_EQ(tensor_bytes(manifest, manifest.tensors[3]), 144U);
  EXPECT_EQ(tensor_bytes(manifest, manifest.tensors[4]), 2U);
}

TEST(Manifest, ComesBackFromJsonAsItWas) {
  const auto parsed = parse_manifest(to_json(example_manifest()));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(*parsed, example_manifest());
}

TEST(Manifest, DenseStridesHaveNoGaps) {
  const Manifest manifest = example_manifest();
  EXPECT_EQ(dense_strides(manifest.types[0], {96, 64}), manifest.tensors[0].strides);
  EXPECT_EQ(dense_strides(manifest.types[1], {4, 64}), manifest.tensors[3].strides);
  EXPECT_TRUE(dense_strides(manifest.types[0], {}).empty());
}

TEST(Manifest, ATensorWithoutElementsHasNoBytes) {
  Manifest manifest = example_manifest();
  manifest.tensors[3].shape = {0, 64};
  EXPECT_TRUE(check(manifest).ok());
  EXPECT_EQ(tensor_bytes(manifest, manifest.tensors[3]), 0U);
}

// Each lie alone, and what is said of it.
TEST(Manifest, LiesAreNamed) {
  struct Lie {
    const char* why;
    std::function<void(Manifest&)> tell;
  };
  const Lie lies[] = {
      {"the model's name is empty", [](Manifest& m) { m.model.clear(); }},
      {"the version is longer than 128", [](Manifest& m) { m.version.assign(129, 'v'); }},
      {"printable ASCII", [](Manifest& m) { m.model = "a\x1b[2J"; }},
      {"shard 1 of 1", [](Manifest& m) { m.shard = 1; }},
      {"shard 0 of 0", [](Manifest& m) { m.shards = 0; }},
      {"slabs of 0 bytes", [](Manifest& m) { m.slabs[1] = 0; }},
      {"slabs of",
       [](Manifest& m) {
         m.slabs = {UINT64_MAX, 2};
       }},
      {"F16 is there twice", [](Manifest& m) { m.types[1].name = "F16"; }},
      {"0 elements in", [](Manifest& m) { m.types[1].elements = 0; }},
      {"in 0 bytes", [](Manifest& m) { m.types[1].bytes = 0; }},
      {"ffn: its type is not there", [](Manifest& m) { m.tensors[3].type = 2; }},
      {"ffn is there twice", [](Manifest& m) { m.tensors[4].name = "ffn"; }},
      {"the name of a tensor is empty", [](Manifest& m) { m.tensors[4].name = ""; }},
      {"ffn: 1 strides for 2 axes", [](Manifest& m) { m.tensors[3].strides.pop_back(); }},
      {"more than 8 axes", [](Manifest& m) { m.tensors[3].shape.assign(9, 1); }},
      {"ffn: its shape does not fill whole blocks of Q4_0",
       [](Manifest& m) { m.tensors[3].shape[1] = 63; }},
      {"ffn: its shape does not fill",
       [](Manifest& m) { m.tensors[3].shape.clear(), m.tensors[3].strides.clear(); }},
      {"ffn: its shape does not fill", [](Manifest& m) { m.tensors[3].strides[0] = UINT64_MAX; }},
      {"ffn: its shape does not fill", [](Manifest& m) { m.tensors[3].shape[0] = UINT64_MAX; }},
      {"of slabs of 16384", [](Manifest& m) { m.tensors[3].offset = 16384 - 142; }},
      {"of slabs of 16384", [](Manifest& m) { m.tensors[3].offset = UINT64_MAX - 1; }},
      {"no multiples of 2", [](Manifest& m) { m.tensors[3].offset += 1; }},
      {"no multiples of 2", [](Manifest& m) { m.tensors[3].strides[0] -= 1; }},
      {"scale: has bytes of ffn", [](Manifest& m) { m.tensors[4].offset -= 2; }},
      {"ffn: has bytes of qkv", [](Manifest& m) { m.tensors[3].offset = 0; }},
      {"q: has bytes of qkv", [](Manifest& m) { m.tensors[1].view_of.reset(); }},
      {"q: a view of nothing", [](Manifest& m) { m.tensors[1].view_of = 5; }},
      {"q: a view of q, which is one itself", [](Manifest& m) { m.tensors[1].view_of = 1; }},
      {"q: a view of heads, which is", [](Manifest& m) { m.tensors[1].view_of = 2; }},
      {"q: reaches beyond ffn", [](Manifest& m) { m.tensors[1].view_of = 3; }},
      {"heads: reaches beyond qkv", [](Manifest& m) { m.tensors[2].offset += 2; }},
  };
  for (const Lie& lie : lies) {
    Manifest manifest = example_manifest();
    lie.tell(manifest);
    EXPECT_TRUE(not_taken(manifest, lie.why)) << lie.why;
  }
}

TEST(Manifest, JsonThatIsNoManifestIsNamed) {
  struct Text {
    const char* why;
    std::function<void(nlohmann::json&)> damage;
  };
  const Text texts[] = {
      {"format", [](auto& j) { j["format"] = "aqua-manifest/2"; }},
      {"unknown key 'more'", [](auto& j) { j["more"] = 1; }},
      {"shards is not a number", [](auto& j) { j["shards"] = -1; }},
      {"slabs is not a whole number", [](auto& j) { j["slabs"][0] = -8192; }},
      {"slabs is not a whole number", [](auto& j) { j["slabs"][0] = 8192.5; }},
      {"slabs is not a list", [](auto& j) { j["slabs"] = 8192; }},
      {"tensors is not a list", [](auto& j) { j["tensors"] = nullptr; }},
      {"tensor 0: is not an object", [](auto& j) { j["tensors"][0] = 1; }},
      {"there is no type 'F32'", [](auto& j) { j["tensors"][0]["type"] = "F32"; }},
      {"digest is not of 32", [](auto& j) { j["tensors"][0]["digest"] = "12"; }},
      {"digest is not of 32", [](auto& j) { j["tensors"][0]["digest"] = std::string(32, 'g'); }},
      {"unknown key 'digest'", [](auto& j) { j["tensors"][1]["digest"] = std::string(32, '0'); }},
      {"a view of 'nobody'", [](auto& j) { j["tensors"][1]["view_of"] = "nobody"; }},
      {"view_of is empty", [](auto& j) { j["tensors"][1]["view_of"] = ""; }},
      {"offset is missing", [](auto& j) { j["tensors"][0].erase("offset"); }},
  };
  for (const Text& text : texts) {
    nlohmann::json json = nlohmann::json::parse(to_json(example_manifest()));
    text.damage(json);
    const auto parsed = parse_manifest(json.dump());
    ASSERT_FALSE(parsed.ok()) << text.why;
    EXPECT_EQ(parsed.error().code, Code::invalid_argument);
    EXPECT_NE(parsed.error().message.find(text.why), std::string::npos) << parsed.error().message;
  }
  for (const char* garbage : {"", "[]", "{", "[[[[[[[[[[", "{\"format\":"}) {
    EXPECT_FALSE(parse_manifest(garbage).ok()) << garbage;
  }
}

}  // namespace
}  // namespace aqua::sharing
