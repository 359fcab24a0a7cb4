// SPDX-License-Identifier: Apache-2.0
// What planner_bench moves and how it is timed: a ring of places in a cache and at the far end, so
// that no transfer finds in the GPU's L2 cache what the one before has left there.
//
// Threads: one.
// Owns:    the cache on the device and, on the host, what sources are filled with and where results
//          are looked at. The device outlives it.
// Units:   bytes.
#pragma once

#include <memory>
#include <vector>

#include "device/own_stream.hpp"
#include "transfer/calibration/far_memory.hpp"
#include "transfer/calibration/piece_shape.hpp"
#include "transfer/transfer.hpp"

namespace aqua::bench {

class Rig {
 public:
  // `ring`: of the cache; far memory is to have as much.
  Rig(device::Device& device, std::size_t ring);

  [[nodiscard]] transfer::WaySet ways() const;
  // What the library would do, by these curves.
  void use(std::shared_ptr<const transfer::CurveSet> curves) { mover_.use(std::move(curves)); }
  [[nodiscard]] transfer::Choice choose(const transfer::LinkMemory& far,
                                        transfer::Direction direction,
                                        const transfer::PieceShape& shape) const;

  struct Times {
    std::vector<double> seconds{};  // medians in the order of Way, less `idle`; 0: not possible
    double idle = 0;                // what posting and seeing nothing took, between the transfers
    bool resolved = true;           // false: of some way less than twice `idle` was measured
    std::size_t transfers = 0;      // that each is the median of
    std::vector<device::CopyCounts> ran{};  // of the last transfer of each way, in their order
  };
  // Transfers of `shape`, each way in turn, until each has moved `bytes_in_all`, but 5 at least and
  // 2000 at most. The bytes of each way's first and last are compared; a wrong one ends the
  // program.
  [[nodiscard]] Times measure(const transfer::LinkMemory& far, transfer::Direction direction,
                              const transfer::PieceShape& shape, const transfer::WaySet& ways,
                              std::size_t bytes_in_all);

 private:
  // One transfer's place in both rings.
  struct Place {
    const transfer::PieceShape& shape;
    std::size_t number;
  };
  std::chrono::nanoseconds move(const transfer::TransferRequest& request, const Place& place);
  std::chrono::nanoseconds verified(const transfer::TransferRequest& request, const Place& place);
  void compare(const transfer::TransferRequest& request, const Place& place) const;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);

  device::Device& device_;
  const std::size_t ring_;
  std::unique_ptr<transfer::FarMemory> cache_, words_, seen_;
  device::OwnStream stream_;
  device::CopyCounts moved_{};  // of the last move()
  transfer::Mover mover_;
};

}  // namespace aqua::bench
