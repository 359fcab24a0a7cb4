// SPDX-License-Identifier: Apache-2.0
// PlaneMemory is device memory in slabs that its owner maps as it likes into planes: ranges of
// addresses that never change. One slab may lie in several planes, which are then the same bytes:
// work sees through one what was written through another if it was launched after that work had
// ended, as in stream order. (A kernel that runs meanwhile need not.)
//
// Threads: one at a time. Owns: memory and addresses; lent memory lives on in its borrowers' hands.
// Must be gone before its runtime.
// Units:   bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "aqua/export.h"
#include "aqua/result.hpp"

namespace aqua {

class Runtime;

struct PlaneMemoryOptions {
  std::size_t planes = 0;
  std::size_t plane_bytes = 0;                    // addresses of each, whole slabs; takes no memory
  std::size_t slabs = 0;                          // memory
  std::size_t slab_bytes = std::size_t{2} << 20;  // a multiple of 2 MiB
};

class AQUA_API PlaneMemory {
 public:
  // Which slabs lie in a plane, from its base on, one after another.
  using Places = std::vector<std::vector<std::uint32_t>>;

  // Takes the memory and maps nothing. invalid_argument names the option; resource_exhausted when
  // the device has less.
  [[nodiscard]] static Result<PlaneMemory> create(Runtime& runtime,
                                                  const PlaneMemoryOptions& options);
  // No work may be in flight on it when it goes. One that was moved from may only be assigned to or
  // destroyed.
  PlaneMemory(PlaneMemory&&) noexcept;
  PlaneMemory& operator=(PlaneMemory&&) noexcept;
  ~PlaneMemory();

  // Device address of a plane, fixed for life. A number not below `planes` throws
  // std::out_of_range.
  [[nodiscard]] std::byte* plane(std::size_t number) const;
  [[nodiscard]] const PlaneMemoryOptions& options() const noexcept;

  // Maps what is named of each plane, and unmaps every slab that is not named; an address without a
  // slab faults. What stays where it was is not touched, and slabs keep their bytes. Waits for no
  // work: the caller has seen complete all that uses addresses which change. All or nothing, but
  // for data_loss.
  //   invalid_argument     not as many lists as planes, a slab that is none or is lent, more than a
  //                        plane holds
  //   data_loss            the change failed half-way and could not be undone: destroy this
  //   failed_precondition  an earlier change ended so
  [[nodiscard]] Result<void> map(Places places);

  // Has slabs that lie in no plane offered to neighbours; their bytes are gone. They come back by
  // Runtime::reclaim(), which takes any lent memory of the runtime's; lent() says which are here.
  // invalid_argument, and nothing is lent: a slab that is none, that lies in a plane or is lent
  // already, or twice.
  [[nodiscard]] Result<void> lend(const std::vector<std::uint32_t>& slabs);
  // Whether each slab is lent, by number. A thread of the runtime's marks those that come back.
  [[nodiscard]] std::vector<bool> lent() const;

 private:
  struct AQUA_LOCAL Parts;
  explicit PlaneMemory(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

}  // namespace aqua
