// SPDX-License-Identifier: Apache-2.0
// LentSlabs knows how much is lent, and where each slab goes once nobody holds it any more.
//
// Threads: any. Taking back is left to the unmap queue.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "lending/exporter.hpp"
#include "runtime/services.hpp"

namespace aqua::runtime {

// Takes a slab that is scrubbed, unmapped, and its owner's again.
using SlabReceiver = std::function<void(std::unique_ptr<device::Slab>)>;

class LentSlabs {
 public:
  // Called on the control loop for each slab that its receiver has got back.
  using Returned = std::function<void(std::size_t bytes, Clock::time_point at)>;

  // `services` outlives it.
  LentSlabs(Services& services, Returned returned)
      : services_(services), returned_(std::move(returned)) {}
  // `exporter` outlives the last use of `services`; once, before anything else.
  void attach(lending::Exporter& exporter) { exporter_ = &exporter; }
  [[nodiscard]] lending::Exporter& exporter() noexcept { return *exporter_; }

  // Counts bytes that are about to be put up, so that they can be reclaimed from now on.
  void expect(std::size_t bytes) { bytes_ += bytes; }
  // Puts up slabs that are counted already; each goes to `receiver` in the end, at once where they
  // cannot be put up. Blocks for a scrub.
  [[nodiscard]] Result<std::vector<std::uint32_t>> put_up(
      std::vector<std::unique_ptr<device::Slab>> slabs, const SlabReceiver& receiver);
  // Gives slabs that nobody holds back to their receivers. One that is held or being scrubbed
  // stays; its return, or the next look at what is free, takes it.
  void take_back(std::span<const std::uint32_t> indexes);

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  void take_back_now(std::uint32_t index);

  Services& services_;
  const Returned returned_;
  lending::Exporter* exporter_ = nullptr;
  std::atomic<std::size_t> bytes_{0};
  Mutex mu_;
  std::map<std::uint32_t, SlabReceiver> receivers_ AQUA_GUARDED_BY(mu_);  // by index
};

}  // namespace aqua::runtime
