// SPDX-License-Identifier: Apache-2.0
// A copy by blocks (layout/block_copy.hpp) as a device takes it.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "layout/block_copy.hpp"

namespace aqua::device {

using layout::BlockCopy;
using layout::BlockEnd;

// Immutable once a table is made of it, and shared with the device until its last copy has run.
using BlockBatch = std::shared_ptr<const BlockCopy>;

// `count` pieces from number `first` on. A side without planes has them one after the other from
// `line` on.
struct PieceRange {
  std::size_t first = 0;
  std::size_t count = 0;
  std::byte* line = nullptr;
};

// A BlockCopy as its device reads it, for any number of copies of its pieces.
class BlockTable {
 public:
  explicit BlockTable(BlockBatch blocks) noexcept : blocks_(std::move(blocks)) {}
  virtual ~BlockTable() = default;
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;
  [[nodiscard]] const BlockBatch& blocks() const noexcept { return blocks_; }

 private:
  BlockBatch blocks_;
};

}  // namespace aqua::device
