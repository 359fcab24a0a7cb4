// SPDX-License-Identifier: Apache-2.0
// What a KV pool (aqua/handoff/kv_pool.hpp) is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace aqua {

// What the members of a pool agree on. Planes lie one after another, each with its blocks.
struct KvPoolShape {
  std::uint32_t layers = 0;
  std::uint32_t planes_per_layer = 2;  // keys and values, or 1
  std::size_t plane_block_bytes = 0;   // of one block in one plane
  std::uint32_t tokens_per_block = 0;
  std::uint32_t blocks = 0;
  // All else that they have to agree on, in their own words: type of elements, heads, their order.
  std::string format{};
};

struct KvPoolOptions {
  std::string name{};
  std::string role{};  // what parcels are handed to: "prefill", "decode", …
  KvPoolShape shape{};
  std::size_t slab_bytes = std::size_t{64} << 20;  // a multiple of 2 MiB; counts where it is made
  // Blocks to have here ahead of need. Twice as many are kept, more are given back.
  std::uint32_t reserve = 64;
  // The most blocks that the members of the role may have together, with those of what they have
  // handed over and nobody has taken; accepted parcels count and are never refused. It counts where
  // the role has no quota yet, and is moved by move_quota(). 0: the role gets none by this.
  std::uint32_t quota_blocks = 0;
  std::string keeper{};  // as WeightsOptions::keeper
};

}  // namespace aqua
