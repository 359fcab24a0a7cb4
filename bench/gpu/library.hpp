// SPDX-License-Identifier: Apache-2.0
// What aqua itself does with the blocks: transfers of a Mover on an opened device, by curves
// measured in this run.
//
// Threads: one.
// Owns:    the Mover. The device, and the memory that ways move, outlive it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/device.hpp"
#include "gpu/measure.hpp"
#include "transfer/transfer.hpp"

namespace aqua::bench {

class Library {
 public:
  // Between a pool and a tensor: what gather_list (offload) or scatter_list (fetch) of the same
  // sizes names.
  struct Move {
    transfer::Direction direction;
    std::byte* pool;
    std::byte* tensor;
    std::size_t block_bytes;
    const BlockList& list;
  };

  // Calibrates `link` with the memory at its far end, whose content is lost.
  Library(device::Device& device, transfer::Link link, std::span<std::byte> far);

  // "library", which is the planner's choice, then each way that it chooses from, but for
  // batched(): "library each" and so on. `at_once`: of moves that run in pairs; no "library staged"
  // if the Mover's staging serves one transfer at a time.
  [[nodiscard]] std::vector<CopyTask> tasks(const Move& move, bool at_once) const;
  // "library batched", which some drivers hang on; empty where there is none.
  [[nodiscard]] std::vector<CopyTask> batched(const Move& move) const;

 private:
  [[nodiscard]] bool has(transfer::Way way) const;
  [[nodiscard]] CopyTask task(const Move& move, std::optional<transfer::Way> wanted) const;

  device::Device& device_;
  transfer::Link link_;
  Stream stream_;  // stands for the one that will be posted to
  std::shared_ptr<transfer::Mover> mover_;
};

}  // namespace aqua::bench
