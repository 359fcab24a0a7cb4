// SPDX-License-Identifier: Apache-2.0
// A KV pool small enough for tests, and requests whose every byte says whose it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "aqua/handoff/kv_pool.hpp"
#include "aqua/runtime.hpp"
#include "tests/base/open_emulated.hpp"

namespace aqua {

inline constexpr std::uint32_t kPoolBlocks = 64;
inline constexpr std::chrono::seconds kPoolPatience{60};  // with what another member does

inline KvPoolOptions small_pool(const std::string& keeper, const std::string& role) {
  KvPoolOptions options{.name = "small", .role = role};
  options.shape = {.layers = 2,
                   .planes_per_layer = 2,
                   .plane_block_bytes = 512,
                   .tokens_per_block = 4,
                   .blocks = kPoolBlocks,
                   .format = "stamps"};
  options.slab_bytes = std::size_t{2} << 20;
  options.reserve = 4;
  options.keeper = keeper;
  return options;
}

inline Runtime open_small_gpu(const std::string& coordinator = "none") {
  return test::open_emulated(32 << 20, 2 << 20, /*hostile=*/false, "emu:0", coordinator);
}

// The first of what `ask` answers, once it answers any. These throw, which fails a test, after
// kPoolPatience.
template <typename Ask>
auto first_of(KvPool& pool, const Ask& ask) {
  for (;;) {
    auto all = ask();
    if (!all.empty()) return all.front();
    if (!pool.wait(kPoolPatience)) throw std::runtime_error("nothing came");
  }
}

inline Parcel take(KvPool& pool) {
  return first_of(pool, [&] { return pool.accept(1); });
}
inline Undelivered returned(KvPool& pool) {
  return first_of(pool, [&] { return pool.undelivered(); });
}
inline Delivery told_of(KvPool& pool) {
  return first_of(pool, [&] { return pool.deliveries(); });
}
inline std::vector<std::uint32_t> blocks_of(KvPool& pool, std::size_t count) {
  for (;;) {
    auto blocks = pool.allocate(count);
    if (blocks.ok()) return *blocks;
    if (!pool.wait(kPoolPatience)) throw std::runtime_error(blocks.error().message);
  }
}

// Word `i` of the `place`-th block of the request with this stamp, in plane `plane`.
inline std::uint64_t stamped_word(std::uint64_t stamp, std::size_t plane, std::size_t place,
                                  std::size_t i) {
  return (stamp + plane * 1'000'003 + place * 65'537 + i) * 0x9e3779b97f4a7c15ULL;
}

inline std::uint64_t* words_of(const Layout& layout, std::size_t plane, std::uint32_t block) {
  const LayoutSpec& spec = layout.spec();
  return reinterpret_cast<std::uint64_t*>(spec.planes[plane] + block * spec.block_stride);
}

// Blocks from `place` on of a request.
inline void stamp_blocks(const Layout& layout, const std::vector<std::uint32_t>& blocks,
                         std::uint64_t stamp, std::size_t place = 0) {
  const std::size_t words = layout.plane_block_bytes() / 8;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t p = 0; p < layout.spec().planes.size(); ++p) {
      std::uint64_t* const at = words_of(layout, p, blocks[b]);
      for (std::size_t i = 0; i < words; ++i) at[i] = stamped_word(stamp, p, place + b, i);
    }
  }
}

inline bool are_stamped(const Layout& layout, const std::vector<std::uint32_t>& blocks,
                        std::uint64_t stamp, std::size_t place = 0) {
  const std::size_t words = layout.plane_block_bytes() / 8;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t p = 0; p < layout.spec().planes.size(); ++p) {
      const std::uint64_t* const at = words_of(layout, p, blocks[b]);
      for (std::size_t i = 0; i < words; ++i) {
        if (at[i] != stamped_word(stamp, p, place + b, i)) return false;
      }
    }
  }
  return true;
}

}  // namespace aqua
