// SPDX-License-Identifier: Apache-2.0
// TensorTable places tensors: it picks the tier at allocation, knows every tensor, and
// finds the ones to promote.
//
// Threads: every method may be called concurrently. allocate() is local: no socket, no
//          device call, well under a microsecond.
#pragma once

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tensor/entry.hpp"

namespace aqua::tensor {

struct TableSpaces {
  Space* host = nullptr;   // required
  Space* peer = nullptr;   // null: this runtime borrows nothing
  Space* local = nullptr;  // null: no spare memory of its own device
};

struct TierUse {
  std::size_t tensors = 0;
  std::size_t bytes = 0;
};
struct TableUse {
  TierUse local, peer, host, lost;
};

class TensorTable {
 public:
  // The spaces and the device outlive the table; tensors may outlive it only as handles
  // that are freed before the spaces go.
  TensorTable(device::Device& device, TableSpaces spaces, std::function<void()> nudge);

  // Places a tensor in the fastest tier with room, with its exit reserved in host memory.
  // resource_exhausted (with what is free where) and nothing changed when there is none.
  [[nodiscard]] Result<AquaTensor> allocate(const TensorOptions& options);

  // Tensors at home that would rather be away, longest here first.
  [[nodiscard]] std::vector<std::shared_ptr<TensorEntry>> to_promote() const;
  // A place for one of them in the fastest tier with room; resource_exhausted if none.
  [[nodiscard]] Result<std::shared_ptr<TensorPlace>> place_away(
      const std::shared_ptr<TensorEntry>& entry);

  // Makes sure that a tensor has an exit; false when host memory is full.
  [[nodiscard]] bool ensure_home(TensorEntry& entry);

  [[nodiscard]] std::vector<std::shared_ptr<TensorEntry>> all() const;
  [[nodiscard]] TableUse use() const;
  [[nodiscard]] DeferredFrees& deferred() noexcept { return context_.deferred; }

 private:
  [[nodiscard]] std::shared_ptr<TensorPlace> try_place(Space* space, std::size_t bytes);
  [[nodiscard]] std::shared_ptr<TensorPlace> try_home(std::size_t bytes);
  void forget(const TensorEntry& entry);

  TableSpaces spaces_;
  TensorEntry::Context context_;
  std::atomic<std::uint64_t> next_id_{1};
  mutable Mutex mu_;
  std::unordered_map<std::uint64_t, std::weak_ptr<TensorEntry>> entries_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::tensor
