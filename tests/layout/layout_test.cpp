// SPDX-License-Identifier: Apache-2.0
#include "aqua/layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <set>

namespace aqua {
namespace {

using ::testing::HasSubstr;

std::byte* at(std::uintptr_t address) {
  return reinterpret_cast<std::byte*>(address);
}

LayoutSpec good() {
  return {.layers = 2,
          .planes_per_layer = 2,
          .planes = {at(0x10000), at(0x20000), at(0x30000), at(0x40000)},
          .block_count = 16,
          .block_stride = 256,
          .axes = BlockAxes::whole(256)};
}

// The message names what is wrong.
void expect_refused(const LayoutSpec& spec, const char* names) {
  const auto made = Layout::make(spec);
  ASSERT_FALSE(made.ok()) << names;
  EXPECT_EQ(made.error().code, Code::invalid_argument);
  EXPECT_THAT(made.error().message, HasSubstr(names));
}

TEST(Layout, CountsBytesAndOffsetsInThePackedForm) {
  const auto layout = Layout::make(good());
  ASSERT_TRUE(layout.ok()) << layout.error().message;
  EXPECT_EQ(layout->plane_block_bytes(), 256U);
  EXPECT_EQ(layout->block_bytes(), 4U * 256U);
  EXPECT_EQ(layout->packed_bytes(5), 5U * 1024U);
  EXPECT_EQ(layout->packed_offset(0, 0, 3, 5), 3U * 256U);
  EXPECT_EQ(layout->packed_offset(1, 1, 2, 5), (3U * 5U + 2U) * 256U);
}

TEST(Layout, MakeRefusesEveryZeroByName) {
  const std::pair<const char*, std::function<void(LayoutSpec&)>> zeroes[] = {
      {"layers", [](LayoutSpec& s) { s.layers = 0; }},
      {"planes_per_layer", [](LayoutSpec& s) { s.planes_per_layer = 0; }},
      {"block_count", [](LayoutSpec& s) { s.block_count = 0; }},
      {"block_stride", [](LayoutSpec& s) { s.block_stride = 0; }},
      {"axes.tokens.count", [](LayoutSpec& s) { s.axes.tokens.count = 0; }},
      {"axes.heads.count", [](LayoutSpec& s) { s.axes.heads.count = 0; }},
      {"axes.runs.count", [](LayoutSpec& s) { s.axes.runs.count = 0; }},
      {"axes.run_bytes", [](LayoutSpec& s) { s.axes.run_bytes = 0; }},
      {"axes.heads.stride", [](LayoutSpec& s) { s.axes.heads.count = 2; }},
  };
  for (const auto& [name, clear] : zeroes) {
    LayoutSpec spec = good();
    clear(spec);
    expect_refused(spec, name);
  }
}

TEST(Layout, MakeRefusesMissingAndNullPlanes) {
  LayoutSpec spec = good();
  spec.planes.pop_back();
  expect_refused(spec, "planes holds 3");
  spec = good();
  spec.planes[2] = nullptr;
  expect_refused(spec, "plane 2 is null");
}

TEST(Layout, MakeRefusesOverflow) {
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  LayoutSpec spec = good();
  spec.block_stride = kHuge;
  expect_refused(spec, "block_stride");
  spec = good();
  spec.block_stride = std::size_t{1} << 58;
  expect_refused(spec, "block_stride overflows");
  spec = good();
  spec.axes.run_bytes = kHuge / 2;
  expect_refused(spec, "overflows");
  spec = good();
  spec.axes.tokens = {1U << 20, std::size_t{1} << 50};
  expect_refused(spec, "axes.tokens.stride overflows");
  spec = good();
  spec.axes = BlockAxes::runs_first(1U << 31, 1U << 31, 1U << 31, kHuge / 4);
  expect_refused(spec, "overflows");
  spec = good();
  spec.planes[3] = at(std::numeric_limits<std::uintptr_t>::max() - 100);
  expect_refused(spec, "runs past the last address");
}

TEST(Layout, MakeRefusesBlocksThatShareBytes) {
  LayoutSpec spec = good();
  spec.block_stride = 255;
  expect_refused(spec, "share bytes");
  spec = good();
  spec.planes[3] = spec.planes[0];
  expect_refused(spec, "planes 0 and 3");
  spec = good();
  spec.planes[2] = spec.planes[1] + 16 * 256 - 1;  // one byte
  expect_refused(spec, "planes 1 and 2");
  spec.planes[2] = spec.planes[1] + 16 * 256;
  EXPECT_TRUE(Layout::make(spec).ok());
}

TEST(Layout, MakeAcceptsLayersWithinBlocks) {
  LayoutSpec spec = good();
  spec.block_stride = 4 * 256;
  spec.planes = {at(0x10000), at(0x10100), at(0x10200), at(0x10300)};
  EXPECT_TRUE(Layout::make(spec).ok());
}

TEST(Layout, MakeAcceptsAThousandPlanesWithinBlocks) {
  LayoutSpec spec = good();
  spec.layers = 500;
  spec.block_stride = std::size_t{1000} * 4096;
  spec.axes = BlockAxes::runs_first(4, 4, 4, 64);
  spec.planes.clear();
  for (std::uintptr_t plane = 0; plane < 1000; ++plane)
    spec.planes.push_back(at(0x10000 + plane * 4096));
  EXPECT_TRUE(Layout::make(spec).ok());
  spec.planes[999] = at(0x10000 + 998 * 4096 + 4095);
  expect_refused(spec, "planes 998 and 999");
}

// No two pieces of theirs share a byte, as far as there is time to look.
TEST(Layout, MakeRefusesStridesThatTakeForeverToTellApart) {
  LayoutSpec spec = good();
  spec.layers = spec.planes_per_layer = 1;
  spec.planes = {at(0x10000)};
  spec.axes.run_bytes = 1;
  for (const std::uint32_t n : {256U, 16384U}) {
    spec.block_count = spec.axes.tokens.count = spec.axes.heads.count = n;
    spec.block_stride = 17592186044423;
    spec.axes.tokens.stride = 13835221895283;
    spec.axes.heads.stride = 11258999068427;
    if (n == 256) {
      EXPECT_TRUE(Layout::make(spec).ok());
    } else {
      expect_refused(spec, "do not nest");
    }
  }
}

// Whether any byte has two owners, by painting every byte.
bool paints_twice(const LayoutSpec& spec) {
  std::set<std::byte*> painted;
  const BlockAxes& axes = spec.axes;
  std::vector<std::size_t> offsets;
  for (std::size_t t = 0; t < axes.tokens.count; ++t) {
    for (std::size_t h = 0; h < axes.heads.count; ++h) {
      for (std::size_t r = 0; r < axes.runs.count; ++r)
        offsets.push_back(t * axes.tokens.stride + h * axes.heads.stride + r * axes.runs.stride);
    }
  }
  for (std::byte* plane : spec.planes) {
    for (std::size_t b = 0; b < spec.block_count; ++b) {
      for (const std::size_t at : offsets) {
        for (std::size_t i = 0; i < spec.axes.run_bytes; ++i) {
          if (!painted.insert(plane + b * spec.block_stride + at + i).second) return true;
        }
      }
    }
  }
  return false;
}

TEST(Layout, OverlapIsFoundExactlyWhenAByteHasTwoOwners) {
  std::minstd_rand random(7);
  const auto draw = [&](unsigned most) { return 1U + static_cast<unsigned>(random()) % most; };
  unsigned accepted = 0;
  for (int round = 0; round < 6000; ++round) {
    LayoutSpec spec{1, 2, {at(5000), at(5000 + draw(90))}, draw(4), draw(30), {}};
    BlockAxes& axes = spec.axes;
    axes = {{draw(3), draw(12)}, {draw(3), draw(30)}, {draw(2), draw(6)}, draw(4)};
    const bool ok = Layout::make(spec).ok();
    ASSERT_EQ(ok, !paints_twice(spec))
        << "plane gap " << spec.planes[1] - spec.planes[0] << " blocks " << spec.block_count << "*"
        << spec.block_stride << " tokens " << axes.tokens.count << "*" << axes.tokens.stride
        << " heads " << axes.heads.count << "*" << axes.heads.stride << " runs " << axes.runs.count
        << "*" << axes.runs.stride << " bytes " << axes.run_bytes;
    accepted += ok ? 1 : 0;
  }
  EXPECT_GT(accepted, 300U);  // the draw tries both outcomes
  EXPECT_LT(accepted, 5400U);
}

TEST(Layout, MhaInterleavesKeyAndValuePlanesByLayer) {
  std::byte* keys[] = {at(0x100000), at(0x200000)};
  std::byte* values[] = {at(0x300000), at(0x400000)};
  const PagedShape shape{.layers = 2, .block_count = 8, .tokens_per_block = 16, .element_bytes = 2};
  const auto layout = Layout::mha(shape, 8, 128, keys, values);
  ASSERT_TRUE(layout.ok()) << layout.error().message;
  EXPECT_EQ(layout->plane_block_bytes(), 16U * 8U * 128U * 2U);
  EXPECT_EQ(layout->spec().axes, BlockAxes::tokens_first(16, 8, 256));
  PagedShape by_heads = shape;
  by_heads.order = BlockOrder::heads_first;
  EXPECT_EQ(Layout::mha(by_heads, 8, 128, keys, values)->spec().axes,
            BlockAxes::heads_first(16, 8, 256));
  EXPECT_EQ(layout->spec().planes_per_layer, 2U);
  EXPECT_EQ(layout->spec().planes, (std::vector{keys[0], values[0], keys[1], values[1]}));
  const auto short_of_one = Layout::mha(shape, 8, 128, std::span(keys).first(1), values);
  ASSERT_FALSE(short_of_one.ok());
  EXPECT_EQ(short_of_one.error().code, Code::invalid_argument);
}

TEST(Layout, MlaHasOnePlaneOfLatents) {
  std::byte* latents[] = {at(0x100000), at(0x200000)};
  const auto layout = Layout::mla({2, 8, 64, 2}, 576, latents);
  ASSERT_TRUE(layout.ok()) << layout.error().message;
  EXPECT_EQ(layout->block_bytes(), 2U * 64U * 576U * 2U);
  const auto empty = Layout::mla({2, 8, 64, 2}, 0, latents);
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().code, Code::invalid_argument);
}

TEST(Layout, CheckRefusesUnknownAndRepeatedBlocks) {
  const auto layout = Layout::make(good());
  ASSERT_TRUE(layout.ok());
  EXPECT_TRUE(layout->check({}).ok());
  EXPECT_TRUE(layout->check(std::vector<std::uint32_t>{15, 0, 3}).ok());
  const auto unknown = layout->check(std::vector<std::uint32_t>{0, 16});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::invalid_argument);
  EXPECT_THAT(unknown.error().message, HasSubstr("entry 1 is block 16 of 16"));
  const auto repeated = layout->check(std::vector<std::uint32_t>{4, 5, 4});
  ASSERT_FALSE(repeated.ok());
  EXPECT_EQ(repeated.error().code, Code::invalid_argument);
  EXPECT_THAT(repeated.error().message, HasSubstr("block 4 is listed again"));
}

}  // namespace
}  // namespace aqua
