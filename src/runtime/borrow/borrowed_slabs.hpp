// SPDX-License-Identifier: Apache-2.0
// BorrowedSlabs lists the slabs that are leased and mapped here, and which of them must leave.
//
// Threads: the control loop's; bytes() from any.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <utility>

#include "aqua/runtime.hpp"
#include "lending/importer.hpp"
#include "runtime/queues/control_loop.hpp"
#include "tensor/migrator.hpp"
#include "tensor/table.hpp"

namespace aqua::runtime {

// What the parts of a borrower work on. All of it outlives them.
struct BorrowerParts {
  lending::Importer& importer;
  tensor::Space& space;  // over the importer's arena
  tensor::TensorTable& table;
  tensor::Migrator& migrator;
  const Callbacks& callbacks;
};

struct BorrowedSlab {
  std::size_t bytes = 0;
  std::size_t offset = 0;        // in the importer's arena
  std::string exchange;          // its exporter's socket
  bool leaving = false;          // revoked: no new tensor is placed there
  Clock::time_point asked{};     // when it was revoked …
  Clock::time_point deadline{};  // … and until when it is wanted
  bool told = false;             // owners of pins were called
};

class BorrowedSlabs {
 public:
  using Map = std::map<lending::SlabKey, BorrowedSlab>;

  BorrowedSlab& add(const lending::SlabKey& key, BorrowedSlab slab) {
    bytes_ += slab.bytes;
    return slabs_.insert_or_assign(key, std::move(slab)).first->second;
  }
  // Returns the one behind it.
  Map::iterator erase(Map::iterator slab) {
    bytes_ -= slab->second.bytes;
    return slabs_.erase(slab);
  }
  // Null when it is not borrowed.
  [[nodiscard]] BorrowedSlab* find(const lending::SlabKey& key) {
    const auto found = slabs_.find(key);
    return found == slabs_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool any_leaving() const {
    return std::ranges::any_of(slabs_, [](const auto& slab) { return slab.second.leaving; });
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  [[nodiscard]] Map::iterator begin() { return slabs_.begin(); }
  [[nodiscard]] Map::iterator end() { return slabs_.end(); }

 private:
  Map slabs_;
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace aqua::runtime
