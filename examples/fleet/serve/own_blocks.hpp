// SPDX-License-Identifier: Apache-2.0
// OwnBlocks are the KV blocks of an engine that has its cache in memory of its own, which it can
// lend while nobody needs them (aqua/elastic_pool.hpp).
//
// Threads: one. Owns: the memory; must be gone before the runtime. Errors: Failure, where not said
//          otherwise.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "aqua/elastic_pool.hpp"
#include "aqua/runtime.hpp"

namespace aqua::fleet {

class OwnBlocks {
 public:
  // So many blocks of `plane_block_bytes` in each plane, of which as many fit as slabs hold.
  OwnBlocks(Runtime& runtime, std::size_t planes, std::size_t plane_block_bytes,
            std::uint32_t blocks);

  // Fixed addresses; of what is lent nothing may be read.
  [[nodiscard]] std::vector<std::byte*> planes() const;
  // That are here: the first so many.
  [[nodiscard]] std::uint32_t usable() const;
  [[nodiscard]] bool lends() const { return lent_bytes() > 0; }
  // That are not here: lent, about to be, or on their way back.
  [[nodiscard]] std::size_t lent_bytes() const {
    return memory_.total_quanta() * memory_.quantum_bytes() -
           memory_.planes() * memory_.usable_bytes_per_plane();
  }
  // The lowest that nobody has; nullopt: there are not so many here.
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> take(std::size_t count);
  void release(const std::vector<std::uint32_t>& blocks);

  // Lends all of it, once the work posted to `stream` so far has ended. False: some block is taken,
  // or a part is lent, and nothing changes.
  bool lend(Stream stream);
  // Wants everything back by then; returns at once. What comes back is usable as it comes. May be
  // called again: what is on its way back is not asked for twice.
  void take_back(std::chrono::milliseconds deadline);

 private:
  Runtime& runtime_;
  const std::size_t plane_block_bytes_;
  const std::uint32_t blocks_;
  ElasticPool memory_;
  std::set<std::uint32_t> free_{};
};

}  // namespace aqua::fleet
