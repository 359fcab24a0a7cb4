// SPDX-License-Identifier: Apache-2.0
// Ranges of addresses to map slabs into: open ones, whose addresses serve devices and host
// alike, and closed ones (closed_arena.hpp), whose addresses only device work can use.
//
// Threads: a Reservation is its owner's to serialise.
#pragma once

#include <cstddef>

#include "aqua/result.hpp"

namespace aqua::device {

class Reservation {
 public:
  // `bytes` is a multiple of `alignment`, a power of two of at least a page.
  // resource_exhausted when this process has no such range left.
  [[nodiscard]] static Result<Reservation> open(std::size_t bytes, std::size_t alignment);
  [[nodiscard]] static Result<Reservation> closed(std::size_t bytes, std::size_t alignment);
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&&) = delete;
  ~Reservation();  // unmaps everything

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  // Maps the first `bytes` of a file, shared, over the place at `offset`.
  [[nodiscard]] Result<void> map_file(std::size_t offset, int fd, std::size_t bytes,
                                      bool inherited_by_children, bool writable);
  // Makes the place inaccessible again.
  [[nodiscard]] Result<void> clear(std::size_t offset, std::size_t bytes);

 private:
  Reservation(std::byte* base, std::byte* view, std::size_t bytes) noexcept
      : base_(base), view_(view), bytes_(bytes) {}

  std::byte* base_;  // null: moved from
  std::byte* view_;
  std::size_t bytes_;
};

}  // namespace aqua::device
