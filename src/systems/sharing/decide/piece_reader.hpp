// SPDX-License-Identifier: Apache-2.0
// PieceReader reads numbers and texts from a ByteSource one after another. It reads ahead in
// pieces of 64 KiB, so that it never holds more of the file than that.
//
// Threads: one. Owns: its buffer; the source must outlive it.
// Errors:  invalid_argument where the file ends too early, and what the source fails with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "systems/sharing/decide/model_file.hpp"

namespace aqua::sharing {

class PieceReader {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

  explicit PieceReader(ByteSource& source) : source_(source), end_(source.bytes()) {}

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }  // of the next byte
  [[nodiscard]] std::uint64_t left() const noexcept { return end_ - position_; }
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return end_; }

  [[nodiscard]] Result<std::uint32_t> u32();  // the least significant byte first
  [[nodiscard]] Result<std::uint64_t> u64();
  // The caller bounds `bytes`; no memory is taken for more than what is left.
  [[nodiscard]] Result<std::string> text(std::uint64_t bytes);
  [[nodiscard]] Result<void> skip(std::uint64_t bytes);

 private:
  [[nodiscard]] Result<void> need(std::uint64_t bytes) const;
  [[nodiscard]] Result<void> read(std::span<std::byte> to);

  ByteSource& source_;
  const std::uint64_t end_;
  std::uint64_t position_ = 0;
  std::vector<std::byte> piece_;
  std::uint64_t piece_start_ = 0;  // in the file
};

}  // namespace aqua::sharing
