// SPDX-License-Identifier: Apache-2.0
// ElasticPool is an engine's own KV memory, of which it can lend the tail and never move a
// pointer.
//
// Each plane (one layer's keys or values; engines keep a tensor per layer) is one reserved
// range of addresses with slabs mapped side by side. Blocks lie at the same offsets in every
// plane, so memory is free only when it is free in all of them: slabs leave and return in
// *quanta*, one slab of every plane at the same offset, from the high end.
//
//   shrink   begin_shrink(quanta, stream): the engine uses the tail no more, once the work it
//            has posted to `stream` is done. poll_shrink() yields the slabs after that.
//   grow     the slabs, or others of their size, are mapped where they were.
//
// Between an unmapping and the next mapping of a place it holds nothing. A stray access there
// kills a CUDA context, as one to lent memory does without `filler`.
//
// Threads: concurrent calls are fine. Getters never wait. The others hold a lock across host
//          calls that map and unmap, never across work on a stream.
// Owns:    addresses and the slabs not lent. Not scrubbed: who lends slabs scrubs them.
// Units:   bytes; quanta count from the low end of the planes.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "aqua/elastic_pool.hpp"
#include "base/mutex.hpp"
#include "device/device.hpp"
#include "lending/slab_swaps.hpp"

namespace aqua::lending {

class ElasticPool {
 public:
  using Slabs = std::vector<std::unique_ptr<device::Slab>>;

  // Reserves and maps everything; contents are undefined. Waits for the filler's scrub.
  // `device` must outlive the pool. invalid_argument as said above; otherwise the device's
  // error, and nothing kept.
  [[nodiscard]] static Result<std::unique_ptr<ElasticPool>> create(
      device::Device& device, const ElasticPoolOptions& options);
  // No work may be in flight on the pool. Slabs out on loan are their holders'.
  ~ElasticPool() = default;
  ElasticPool(const ElasticPool&) = delete;
  ElasticPool& operator=(const ElasticPool&) = delete;

  // Fixed for the pool's life.
  [[nodiscard]] std::byte* plane_base(std::size_t plane) const { return ranges_.at(plane)->base(); }
  [[nodiscard]] std::size_t planes() const noexcept { return options_.planes; }
  [[nodiscard]] std::size_t quantum_bytes() const noexcept {
    return options_.planes * options_.slab_bytes;
  }
  [[nodiscard]] std::size_t total_quanta() const noexcept { return total_quanta_; }

  // What the engine may use of each plane, from its base on. Falls when a shrink begins.
  [[nodiscard]] std::size_t usable_bytes_per_plane() const noexcept {
    return usable_quanta_.load(std::memory_order_acquire) * options_.slab_bytes;
  }
  // Whole blocks of `block_bytes`, side by side, that this holds in each plane.
  [[nodiscard]] std::size_t usable_blocks(std::size_t block_bytes) const noexcept {
    return block_bytes == 0 ? 0 : usable_bytes_per_plane() / block_bytes;
  }
  // Handed out by poll_shrink() and not grown back.
  [[nodiscard]] std::size_t lent_quanta() const noexcept {
    return total_quanta_ - mapped_quanta_.load(std::memory_order_acquire);
  }

  // The engine starts nothing more in the highest `quanta` usable ones; what it started is
  // done when `stream` reaches this point. Does not wait. invalid_argument for 0,
  // resource_exhausted for more than are usable, failed_precondition while another shrink is
  // pending; as Device::check_stream() for the stream.
  [[nodiscard]] Result<void> begin_shrink(std::size_t quanta, Stream stream);
  // Nothing while the stream is not there yet; then quanta * planes slabs, once, by quantum and
  // plane from the lowest on: grown back in this order, they lie where they did.
  // failed_precondition when no shrink was begun. data_loss when the stream's work failed: the
  // shrink is off. On any other error nothing is unmapped and the shrink stays pending.
  [[nodiscard]] Result<std::optional<Slabs>> poll_shrink();
  // The tail of a pending shrink is usable again. failed_precondition when none is pending.
  [[nodiscard]] Result<void> cancel_shrink();
  // Maps as many whole quanta as `slabs` makes and as are lent, takes those slabs out of the
  // vector and returns the number of quanta; too few for one is no error. All work on the slabs
  // has been seen complete. Contents stay as they are. On an error nothing is taken:
  // invalid_argument for a slab that is null or of another size, failed_precondition while a
  // shrink is pending.
  [[nodiscard]] Result<std::size_t> grow(Slabs& slabs);

 private:
  ElasticPool(device::Device& device, const ElasticPoolOptions& options)
      : device_(device),
        options_(options),
        total_quanta_(options.plane_bytes / options.slab_bytes),
        swaps_(device, "elastic pool") {}

  [[nodiscard]] Result<void> fill();
  [[nodiscard]] Result<void> make_filler();

  device::Device& device_;
  const ElasticPoolOptions options_;
  const std::size_t total_quanta_;
  std::unique_ptr<device::Slab> filler_;                       // fixed after create()
  std::vector<std::unique_ptr<device::AddressRange>> ranges_;  // per plane; fixed after create()

  // usable <= mapped <= total; what lies between usable and mapped is a pending shrink. Written
  // under mu_.
  std::atomic<std::size_t> usable_quanta_{0};
  std::atomic<std::size_t> mapped_quanta_{0};

  mutable Mutex mu_;
  std::vector<Slabs> slabs_ AQUA_GUARDED_BY(mu_);  // per mapped quantum, per plane
  std::unique_ptr<device::Event> tail_free_ AQUA_GUARDED_BY(mu_);
  SlabSwaps swaps_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::lending
