// SPDX-License-Identifier: Apache-2.0
// ElasticPool holds an engine's KV cache in memory whose tail can be lent and taken back,
// while every pointer of the engine stays valid.
//
//   auto pool = aqua::ElasticPool::create(runtime, {.planes = 2 * layers, .plane_bytes = 64_MiB});
//   for (std::size_t l = 0; l < layers; ++l) {
//     keys[l] = pool->plane(2 * l);
//     values[l] = pool->plane(2 * l + 1);
//   }
//   // Quiet times: blocks beyond usable_blocks() after this are not used any more ...
//   auto lent = pool->lend(quanta, stream);  // ... once the work posted to `stream` so far is done
//
// Each plane (one layer's keys or values) is one range of addresses, made of slabs. Memory
// is free only where it is free in all planes, so it is lent in *quanta*: one slab of every
// plane, at the same offset, from the high end. What comes home is mapped again where it
// was missing, a whole quantum at a time, and usable_bytes_per_plane() grows.
//
// Threads: every method may be called concurrently; none waits for work on a stream.
// Owns:    the memory and its addresses. Must be gone before its runtime; reclaim first.
// Units:   bytes.
#pragma once

#include <cstddef>
#include <memory>

#include "aqua/export.h"
#include "aqua/result.hpp"
#include "aqua/types.hpp"

namespace aqua {

class Runtime;

namespace runtime {
class PoolShare;
}

struct ElasticPoolOptions {
  std::size_t planes = 0;       // layers times two, or times one where keys and values share
  std::size_t plane_bytes = 0;  // when nothing is lent; a multiple of slab_bytes
  // A multiple of the device's granularity. The quantum is `planes` times as large: small slabs
  // make small loans possible.
  std::size_t slab_bytes = std::size_t{2} << 20;
  // One further slab stands in where memory is lent, so that a stray read returns something
  // (never another tenant's bytes) instead of killing the context. Stray writes go nowhere.
  bool filler = false;
};

class AQUA_API ElasticPool {
 public:
  // Takes and maps all of it. invalid_argument, or resource_exhausted when the device has less.
  [[nodiscard]] static Result<ElasticPool> create(Runtime& runtime,
                                                  const ElasticPoolOptions& options);
  // Lent memory lives on in its borrowers' hands, and is the device's own when it comes back. A
  // pool that was moved from may only be assigned to or destroyed.
  ElasticPool(ElasticPool&&) noexcept;
  ElasticPool& operator=(ElasticPool&&) noexcept;
  ~ElasticPool();

  // Device address of a plane; fixed for the pool's life. A number not below planes() throws
  // std::out_of_range.
  [[nodiscard]] std::byte* plane(std::size_t number) const;
  [[nodiscard]] std::size_t planes() const noexcept;
  [[nodiscard]] std::size_t quantum_bytes() const noexcept;
  [[nodiscard]] std::size_t total_quanta() const noexcept;
  [[nodiscard]] std::size_t lent_quanta() const noexcept;
  // What the engine may use of each plane, from its base on. Falls at once with lend().
  [[nodiscard]] std::size_t usable_bytes_per_plane() const noexcept;
  // The same in whole blocks of so many bytes in one plane (Layout::plane_block_bytes()).
  [[nodiscard]] std::size_t usable_blocks(std::size_t plane_block_bytes) const noexcept;

  // The engine starts nothing more in the highest `quanta` usable ones; once `stream` has
  // come to this point they are unmapped, scrubbed and offered. To get memory back, call
  // Runtime::reclaim(quanta * quantum_bytes(), deadline).
  //   invalid_argument     0 quanta
  //   resource_exhausted   more than are usable
  //   failed_precondition  the loan before this one has not been unmapped yet: call again; or
  //                        `stream` is being captured into a graph
  [[nodiscard]] Result<void> lend(std::size_t quanta, Stream stream);

 private:
  explicit ElasticPool(std::shared_ptr<runtime::PoolShare> share);
  std::shared_ptr<runtime::PoolShare> share_;
};

}  // namespace aqua
