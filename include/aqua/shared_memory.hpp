// SPDX-License-Identifier: Apache-2.0
// SharedMemory is device memory that several processes of one user read and write: the slabs of a
// KV pool. It lies in slabs, mapped one after another from one address on, and changes process as
// descriptors.
//
//   maker:  create() -> descriptors(), to whoever keeps them
//   others: open() with those descriptors
//
// Nothing here says who may write what when: its users agree on it (aqua::KvPool does).
//
// Threads: one at a time, but address() and bytes(). Owns: addresses, its mapping and, after
//          create(), descriptors. Memory goes when nobody has it mapped and nobody holds a
//          descriptor of it. Must be gone before its runtime, and no work may be in flight on it
//          then. What open() has mapped, forked children do not inherit.
// Units:   bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "aqua/export.h"
#include "aqua/result.hpp"
#include "aqua/slab_descriptor.hpp"

namespace aqua {

class Runtime;

class AQUA_API SharedMemory {
 public:
  // Takes memory of the runtime's device and fills it with zeroes; blocks for that.
  //   invalid_argument    no slab, or one that is no multiple of 2 MiB
  //   resource_exhausted  the device has less
  [[nodiscard]] static Result<SharedMemory> create(Runtime& runtime,
                                                   const std::vector<std::size_t>& slabs);
  // Maps what another process has created on this device. invalid_argument: no slab, a size that is
  // not the slab's, or a descriptor of anything else.
  [[nodiscard]] static Result<SharedMemory> open(Runtime& runtime,
                                                 const std::vector<SlabDescriptor>& slabs);
  // One that was moved from may only be assigned to or destroyed.
  SharedMemory(SharedMemory&&) noexcept;
  SharedMemory& operator=(SharedMemory&&) noexcept;
  ~SharedMemory();

  // Device address of the first byte, fixed for life.
  [[nodiscard]] std::byte* address() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;  // of all slabs
  // One for each slab, in order; they are closed with this. None for memory that open() has mapped.
  [[nodiscard]] std::vector<SlabDescriptor> descriptors() const;

 private:
  struct AQUA_LOCAL Parts;
  explicit SharedMemory(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

}  // namespace aqua
