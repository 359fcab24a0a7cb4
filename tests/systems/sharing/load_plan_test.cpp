// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/decide/load_plan.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <numeric>
#include <random>

#include "systems/sharing/decide/manifest_limits.hpp"
#include "systems/sharing/decide/name_pattern.hpp"

namespace aqua::sharing {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Runs = std::vector<Run>;  // within a test, Run is a member of it

const ElementType kF16{.name = "F16", .bytes = 2};
const ElementType kQ4_0{.name = "Q4_0", .elements = 32, .bytes = 18};

std::uint64_t blocks_in(const ElementType& type, const std::vector<std::uint64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>()) /
         type.elements;
}

FileTensor tensor(std::string name, const ElementType& type, std::vector<std::uint64_t> shape,
                  std::uint64_t offset, std::uint32_t file = 0) {
  const std::uint64_t bytes = blocks_in(type, shape) * type.bytes;
  return {std::move(name), type, std::move(shape), offset, bytes, file};
}

// Two files, with a tensor to cut along its first axis, one along its last, and two left whole.
std::vector<FileTensor> example_tensors() {
  return {tensor("blk.0.up", kF16, {8, 6}, 1000), tensor("blk.0.down", kQ4_0, {3, 128}, 2000),
          tensor("norm", kF16, {5}, 64, 1), tensor("none", kF16, {0, 4}, 74, 1)};
}

LoadOptions options(std::uint32_t shard = 0, std::uint32_t shards = 1) {
  return {.model = "m",
          .version = "1",
          .shard = shard,
          .shards = shards,
          .slab_bytes = 512,
          .rules = {{"*.up", 0}, {"blk.*.down", 1}}};
}

TEST(LoadPlan, ASingleShardHasOneRunForEachTensor) {
  const auto plan = make_load_plan(example_tensors(), options());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const Runs expected = {{0, 0, 1000, 0, 96}, {1, 0, 2000, 256, 216}, {2, 1, 64, 512, 10}};
  EXPECT_EQ(plan->runs, expected);
  const Manifest& manifest = plan->manifest;
  EXPECT_TRUE(check(manifest).ok());
  EXPECT_EQ(manifest.model, "m");
  EXPECT_EQ(manifest.version, "1");
  EXPECT_EQ(manifest.slabs, (std::vector<std::uint64_t>{512, 512})) << "whole slabs";
  EXPECT_EQ(manifest.types, (std::vector<ElementType>{kF16, kQ4_0}));
  ASSERT_EQ(manifest.tensors.size(), 4U);
  EXPECT_EQ(manifest.tensors[1].strides, dense_strides(kQ4_0, {3, 128}));
  EXPECT_EQ(manifest.tensors[3].offset, 768U) << "no bytes, but a place";
}

TEST(LoadPlan, AnOuterAxisIsOneRunAndAnInnerOneARunForEachRow) {
  const auto plan = make_load_plan(example_tensors(), options(1, 2));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const Runs expected = {{0, 0, 1048, 0, 48},
                         {1, 0, 2036, 256, 36},
                         {1, 0, 2108, 292, 36},
                         {1, 0, 2180, 328, 36},
                         {2, 1, 64, 512, 10}};
  EXPECT_EQ(plan->runs, expected);
  EXPECT_EQ(plan->manifest.tensors[0].shape, (std::vector<std::uint64_t>{4, 6}));
  EXPECT_EQ(plan->manifest.tensors[1].shape, (std::vector<std::uint64_t>{3, 64}));
  EXPECT_EQ(plan->manifest.shard, 1U);
  EXPECT_EQ(plan->manifest.shards, 2U);
}

TEST(LoadPlan, AxesOfOneElementDoNotDivideRuns) {
  LoadOptions cut = options(1, 2);
  cut.rules = {{"x", 2}};
  const auto plan = make_load_plan({tensor("x", kF16, {1, 1, 8, 6}, 0)}, cut);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->runs, (Runs{{0, 0, 48, 0, 48}}));
}

TEST(LoadPlan, ATensorStraddlesSlabs) {
  LoadOptions small = options();
  small.slab_bytes = 100;
  const auto plan = make_load_plan(example_tensors(), small);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->manifest.slabs, std::vector<std::uint64_t>(8, 100));
  EXPECT_EQ(plan->runs.size(), 3U);
}

TEST(LoadPlan, TheFirstRuleThatFitsCounts) {
  LoadOptions cut = options(0, 2);
  cut.rules = {{"*.up", 1}, {"*", 0}};
  const auto plan = make_load_plan({tensor("a.up", kF16, {3, 2}, 0)}, cut);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->manifest.tensors[0].shape, (std::vector<std::uint64_t>{3, 1}));
}

TEST(LoadPlan, AStarStandsForAnyCharactersAndAllElseForItself) {
  const std::pair<const char*, const char*> fitting[] = {
      {"", ""},       {"*", ""},          {"*", "abc"},        {"abc", "abc"},
      {"a*", "a"},    {"a*c", "abcc"},    {"*.a.*", "x.a.b"},  {"**a**", "bab"},
      {"a.c", "a.c"}, {"*ab*ab", "abab"}, {"a*b*c", "aXbXbXc"}};
  for (const auto& [pattern, name] : fitting) EXPECT_TRUE(fits(pattern, name)) << pattern;
  const std::pair<const char*, const char*> others[] = {
      {"", "a"},     {"a", ""},     {"a.c", "abc"}, {"a?c", "abc"},  {"abc", "ab"},
      {"ab", "abc"}, {"a*c", "ab"}, {"*b", "abc"},  {"*ab*ab", "ab"}};
  for (const auto& [pattern, name] : others) EXPECT_FALSE(fits(pattern, name)) << pattern;
}

// Each wrong thing alone, and what is said of it.
TEST(LoadPlan, WhatCannotBePlannedIsNamed) {
  struct Case {
    const char* why;
    std::function<void(std::vector<FileTensor>&, LoadOptions&)> change;
    Code code = Code::invalid_argument;
  };
  const Case cases[] = {
      {"norm: is in file 0 and in file 1", [](auto& t, auto&) { t[0].name = "norm"; }},
      {"blk.0.up: axis 0 of 7 elements",
       [](auto& t, auto&) {
         t[0] = tensor("blk.0.up", kF16, {7, 6}, 0);
       }},
      {"blk.0.down: axis 1 of 96 elements, in blocks of 32, cannot be cut into 2",
       [](auto& t, auto&) {
         t[1] = tensor("blk.0.down", kQ4_0, {3, 96}, 0);
       }},
      {"norm: has no axis 1 to be cut along, but 1 axes",
       [](auto&, auto& o) {
         o.rules = {{"norm", 1}};
       }},
      {"blk.0.up: has no axis 0 to be cut along, but 0 axes",
       [](auto& t, auto&) { t[0] = tensor("blk.0.up", kF16, {}, 0); }},
      {"norm: bytes 64 to 64 + 11 are not those of its shape, 10",
       [](auto& t, auto&) { t[2].bytes = 11; }},
      {"norm: bytes 18446744073709551615 to", [](auto& t, auto&) { t[2].offset = UINT64_MAX; }},
      {"norm: its shape takes more bytes", [](auto& t, auto&) { t[2].shape[0] = UINT64_MAX; }},
      {"blk.0.down: its shape does not fill", [](auto& t, auto&) { t[1].shape[1] = 100; }},
      {"type F16 has blocks of two sizes", [](auto& t, auto&) { t[3].type.bytes = 4; }},
      {"none: ends more than 281474976710656 bytes from the first",
       [](auto& t, auto&) { t[3] = tensor("none", kF16, {1ULL << 47}, 0); }},
      {"shard 2 of 2", [](auto&, auto& o) { o.shard = 2; }},
      {"shard 0 of 0", [](auto&, auto& o) { o.shard = o.shards = 0; }},
      {"shard 0 of 4097", [](auto&, auto& o) { o.shard = 0, o.shards = 4097; }},
      {"slabs of 0 bytes", [](auto&, auto& o) { o.slab_bytes = 0; }},
      {"slabs of 1 bytes, more than 65536",
       [](auto& t, auto& o) { o.slab_bytes = 1, t[3] = tensor("none", kF16, {1 << 20}, 0); }},
      {"the model's name is empty", [](auto&, auto& o) { o.model.clear(); }},
      {"the name of a tensor is empty", [](auto& t, auto&) { t[3].name.clear(); }},
      {"none: is cut into 17179869184 pieces",
       [](auto& t, auto& o) {
         t[3] = tensor("none", kF16, {1ULL << 34, 2}, 0);
         o.rules = {{"none", 1}};
       },
       Code::resource_exhausted},
  };
  for (const Case& wrong : cases) {
    std::vector<FileTensor> tensors = example_tensors();
    LoadOptions asked = options(0, 2);
    wrong.change(tensors, asked);
    const auto plan = make_load_plan(tensors, asked);
    ASSERT_FALSE(plan.ok()) << wrong.why;
    EXPECT_EQ(plan.error().code, wrong.code) << plan.error().message;
    EXPECT_NE(plan.error().message.find(wrong.why), std::string::npos) << plan.error().message;
  }
}

// The blocks of a shard's part, each found by its indices.
Bytes naive_part(const Bytes& file, const FileTensor& whole, std::optional<std::uint32_t> axis,
                 std::uint32_t shard, std::uint32_t shards) {
  std::vector<std::uint64_t> blocks = whole.shape;  // along each axis
  if (!blocks.empty()) blocks.back() /= whole.type.elements;
  std::vector<std::uint64_t> part = blocks;
  if (axis) part[*axis] /= shards;
  Bytes bytes;
  for (std::uint64_t i = 0; i < blocks_in({"", 1, 1}, part); ++i) {
    std::uint64_t rest = i, from = 0, step = 1;
    for (std::size_t a = part.size(); a-- > 0;) {
      std::uint64_t index = rest % part[a];
      rest /= part[a];
      if (axis == a) index += shard * part[a];
      from += index * step;
      step *= blocks[a];
    }
    const auto* const first = file.data() + whole.offset + from * whole.type.bytes;
    bytes.insert(bytes.end(), first, first + whole.type.bytes);
  }
  return bytes;
}

class RandomModel {
 public:
  explicit RandomModel(std::uint32_t seed) : random_(seed) {
    for (Bytes& file : files) file.resize(below(64));
    for (std::uint64_t i = 0, count = 1 + below(5); i < count; ++i) add("t" + std::to_string(i));
    cut.slab_bytes = 1 + below(3000);
  }
  std::uint64_t below(std::uint64_t end) {
    return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_);
  }

  std::vector<FileTensor> tensors{};
  std::vector<std::optional<std::uint32_t>> axes{};  // along which each is cut
  std::vector<Bytes> files{3};
  LoadOptions cut{.model = "m", .version = "1"};

 private:
  // Divisible by 12 along the axis that it is cut along, if it is.
  void add(const std::string& name) {
    const ElementType types[] = {kF16, kQ4_0, {"F32", 1, 4}, {"I8", 1, 1}, {"MXFP4", 32, 17}};
    const ElementType& type = types[below(5)];
    std::vector<std::uint64_t> shape(below(5));
    for (std::uint64_t& length : shape) length = below(20) == 0 ? 0 : 1 + below(4);
    std::optional<std::uint32_t> axis;
    if (shape.empty() && type.elements > 1) shape.push_back(1);
    if (!shape.empty() && below(4) > 0) axis = static_cast<std::uint32_t>(below(shape.size()));
    if (axis) shape[*axis] *= 12;
    if (!shape.empty()) shape.back() *= type.elements;
    const auto number = static_cast<std::uint32_t>(below(files.size()));
    Bytes& file = files[number];
    tensors.push_back(tensor(name, type, shape, file.size(), number));
    axes.push_back(axis);
    if (axis) cut.rules.push_back({name, *axis});
    const std::uint64_t end = file.size() + tensors.back().bytes + below(40);
    while (file.size() < end) file.push_back(static_cast<std::uint8_t>(below(256)));
  }

  std::mt19937 random_;
};

TEST(LoadPlan, RunsBringTheBytesThatANaiveCutFinds) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    RandomModel model(seed);
    constexpr std::uint32_t kShards[] = {1, 2, 3, 4, 6, 12};
    model.cut.shards = kShards[model.below(6)];
    model.cut.shard = static_cast<std::uint32_t>(model.below(model.cut.shards));
    const auto plan = make_load_plan(model.tensors, model.cut);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    const Manifest& manifest = plan->manifest;
    ASSERT_TRUE(check(manifest).ok());
    Bytes slabs(slab_bytes(manifest));
    for (const auto& run : plan->runs) {
      const Bytes& file = model.files[run.file];
      ASSERT_LE(run.file_offset + run.bytes, file.size());
      ASSERT_LE(run.offset + run.bytes, slabs.size());
      std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(run.file_offset), run.bytes,
                  slabs.begin() + static_cast<std::ptrdiff_t>(run.offset));
    }
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
      const TensorInfo& placed = manifest.tensors[i];
      EXPECT_EQ(placed.name, model.tensors[i].name);
      EXPECT_EQ(placed.offset % kTensorAlignment, 0U);
      const auto first = slabs.begin() + static_cast<std::ptrdiff_t>(placed.offset);
      const Bytes loaded(first,
                         first + static_cast<std::ptrdiff_t>(tensor_bytes(manifest, placed)));
      EXPECT_EQ(loaded, naive_part(model.files[model.tensors[i].file], model.tensors[i],
                                   model.axes[i], model.cut.shard, model.cut.shards));
    }
  }
}

TEST(LoadPlan, NoTwoRunsOfATensorCouldBeOne) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    RandomModel model(seed);
    model.cut.shards = 3;
    const auto plan = make_load_plan(model.tensors, model.cut);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    for (std::size_t i = 1; i < plan->runs.size(); ++i) {
      const auto& before = plan->runs[i - 1];
      const auto& run = plan->runs[i];
      EXPECT_FALSE(before.tensor == run.tensor &&
                   before.file_offset + before.bytes == run.file_offset)
          << "seed " << seed << " run " << i;
    }
  }
}

}  // namespace
}  // namespace aqua::sharing
