// Ranges of addresses to map slabs into.
//
// An open reservation is an ordinary one: its addresses serve devices and host alike.
// A closed one has two ranges at a constant distance: `base` is what the device hands out
// and stays inaccessible for ever, `view` is where the slabs really are. Both lie in a pair
// of arenas reserved once in the life of the process, so that translating needs no table.
//
// Threads: reserving and closed_view are safe anywhere; one Reservation is its owner's.
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

  // Maps the first `bytes` of a file, shared and read-write, over view() + offset.
  [[nodiscard]] Result<void> map_file(std::size_t offset, int fd, std::size_t bytes,
                                      bool inherited_by_children);
  // Makes the place inaccessible again.
  [[nodiscard]] Result<void> clear(std::size_t offset, std::size_t bytes);

 private:
  Reservation(std::byte* base, std::byte* view, std::size_t bytes) noexcept
      : base_(base), view_(view), bytes_(bytes) {}

  std::byte* base_;  // null: moved from
  std::byte* view_;
  std::size_t bytes_;
};

// The view of an address in the closed arena; any other address comes back unchanged.
[[nodiscard]] std::byte* closed_view(std::byte* address) noexcept;

}  // namespace aqua::device
