// SPDX-License-Identifier: Apache-2.0
// An engine's paged KV cache on the emulated device, as tests of the prefix cache have it: two
// layers, keys and values apart, blocks of four tokens. Every byte has a stamp that says which
// prompt it is of and where.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/prefix/prefix_cache.hpp"

namespace aqua::test {

class EngineBlocks {
 public:
  static constexpr std::uint32_t block_count = 64;
  static constexpr std::uint32_t block_tokens = 4;
  static constexpr std::size_t planes = 4;

  // `plane_bytes` of a block in each plane.
  EngineBlocks(Runtime& runtime, std::size_t plane_bytes)
      : runtime_(runtime),
        plane_bytes_(plane_bytes),
        memory_(*emulated::allocate(runtime, planes * block_count * plane_bytes)),
        stream_(*emulated::create_stream(runtime)) {
    LayoutSpec spec{.layers = 2,
                    .planes_per_layer = 2,
                    .block_count = block_count,
                    .block_stride = plane_bytes,
                    .axes = BlockAxes::whole(plane_bytes)};
    for (std::size_t p = 0; p < planes; ++p) {
      spec.planes.push_back(memory_.data() + p * block_count * plane_bytes);
    }
    layout_ = std::make_unique<Layout>(*Layout::make(spec));
  }
  ~EngineBlocks() { EXPECT_TRUE(emulated::destroy_stream(runtime_, stream_).ok()); }
  EngineBlocks(const EngineBlocks&) = delete;
  EngineBlocks& operator=(const EngineBlocks&) = delete;

  [[nodiscard]] const Layout& layout() const { return *layout_; }
  [[nodiscard]] Stream stream() const { return stream_; }
  [[nodiscard]] std::size_t block_bytes() const { return planes * plane_bytes_; }

  // What a prompt computed, on the stream.
  void fill(BlockList blocks, unsigned seed) {
    for_each_byte(blocks, [seed](std::byte& byte, std::size_t i, std::size_t p, std::size_t b) {
      byte = stamp(seed, i, p, b);
    });
  }
  // Bytes that are not what fill() with this seed wrote to blocks in this order.
  [[nodiscard]] std::size_t wrong(BlockList blocks, unsigned seed) {
    std::size_t bad = 0;
    for_each_byte(blocks, [&](std::byte& byte, std::size_t i, std::size_t p, std::size_t b) {
      bad += byte != stamp(seed, i, p, b);
    });
    return bad;
  }
  // `length` blocks here and there.
  static std::vector<std::uint32_t> list(std::uint32_t first, std::uint32_t length) {
    std::vector<std::uint32_t> blocks(length);
    for (std::uint32_t i = 0; i < length; ++i) blocks[i] = (first + 5 * i) % block_count;
    return blocks;
  }

 private:
  static std::byte stamp(unsigned seed, std::size_t i, std::size_t plane, std::size_t at) {
    return static_cast<std::byte>(seed * 131 + i * 31 + plane * 7 + at + at / 251);
  }
  template <typename Act>
  void for_each_byte(BlockList blocks, Act act) {
    ASSERT_TRUE(emulated::launch(runtime_, stream_, [&] {
                  for (std::size_t p = 0; p < planes; ++p) {
                    for (std::size_t i = 0; i < blocks.size(); ++i) {
                      std::byte* const at = emulated::kernel_view(
                          memory_.data() + (p * block_count + blocks[i]) * plane_bytes_);
                      for (std::size_t b = 0; b < plane_bytes_; ++b) act(at[b], i, p, b);
                    }
                  }
                }).ok());
    ASSERT_TRUE(emulated::synchronize(runtime_, stream_).ok());
  }

  Runtime& runtime_;
  const std::size_t plane_bytes_;
  emulated::Memory memory_;
  Stream stream_;
  std::unique_ptr<Layout> layout_;
};

// Prompt `seed`, which has no token in common with another one, by index blocks of eight tokens; a
// last, partial one too.
inline std::vector<prefix::BlockHash> chain(unsigned seed, std::size_t tokens,
                                            std::string_view tenant = "tenant") {
  std::vector<prefix::Token> all(tokens);
  std::iota(all.begin(), all.end(), seed * 1000);
  return prefix::hash_chain(tenant, all, 8, true);
}

}  // namespace aqua::test
