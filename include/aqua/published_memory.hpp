// SPDX-License-Identifier: Apache-2.0
// PublishedMemory is device memory that one process fills and seals, and that others map to read:
// the weights of a model, once on a GPU for all of its engines. It lies in slabs, mapped one after
// another from one address on, and changes process as descriptors.
//
//   writer: create() -> write() or kernels -> seal() -> descriptors() of its slabs
//   reader: open() with those descriptors -> read() or kernels
//
// On the emulated GPU the kernel refuses every write after seal(), in every process. On CUDA the
// driver cannot: this library maps it read-only and refuses copies into it (WriteProtection).
//
// Threads: one at a time, but address(), bytes() and read(). Owns: addresses, its mapping and its
//          descriptors. Memory goes when nobody has it mapped and nobody holds a descriptor of it.
//          Must be gone before its runtime, and no work may be in flight on it then.
// Units:   bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "aqua/export.h"
#include "aqua/result.hpp"
#include "aqua/slab_descriptor.hpp"
#include "aqua/write_protection.hpp"

namespace aqua {

class Runtime;

class AQUA_API PublishedMemory {
 public:
  // Takes memory of the runtime's device, of undefined content, to be written.
  //   invalid_argument    no slab, or one that is no multiple of 2 MiB
  //   resource_exhausted  the device has less
  [[nodiscard]] static Result<PublishedMemory> create(Runtime& runtime,
                                                      const std::vector<std::size_t>& slabs);
  // Maps what another process has published on this device, or on one that is its peer.
  // invalid_argument: no slab, a size that is not the slab's, or a descriptor of anything but a
  // sealed slab.
  [[nodiscard]] static Result<PublishedMemory> open(Runtime& runtime,
                                                    const std::vector<SlabDescriptor>& slabs);
  // One that was moved from may only be assigned to or destroyed.
  PublishedMemory(PublishedMemory&&) noexcept;
  PublishedMemory& operator=(PublishedMemory&&) noexcept;
  ~PublishedMemory();

  // Names the runtime's device by 32 hexadecimal digits, alike in every process of this server.
  [[nodiscard]] static std::string device_of(Runtime& runtime);
  // Likewise the device "host": memory of this server that is no GPU's.
  [[nodiscard]] static std::string host_device();

  // Device address of the first byte, fixed for life.
  [[nodiscard]] std::byte* address() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;  // of all slabs

  // Copies `bytes` from host memory, or from what this device has mapped, to `offset`; blocks until
  // they are there. What kernels write to address() comes from other streams: see it complete
  // first.
  //   invalid_argument     beyond the slabs
  //   failed_precondition  nothing is mapped, or this process is a fork
  //   permission_denied    it is sealed
  [[nodiscard]] Result<void> write(std::size_t offset, const std::byte* from, std::size_t bytes);
  // Copies to host memory, or to memory of this device; blocks. Errors: as write()'s.
  [[nodiscard]] Result<void> read(std::size_t offset, std::byte* to, std::size_t bytes) const;

  // Ends all writing, here and everywhere, for good, and maps the memory to be read at the same
  // addresses. The caller has seen all work on it complete.
  //   failed_precondition  it is still mapped to be written elsewhere (in a forked child), or it is
  //                        not this process's to seal: call it again once that has ended
  // After an error some of it may not be mapped: call it again, or destroy this.
  [[nodiscard]] Result<WriteProtection> seal();
  // One for each slab, in order; they are closed with this. failed_precondition before seal(), and
  // for memory that open() has mapped.
  [[nodiscard]] Result<std::vector<SlabDescriptor>> descriptors() const;

  // Unmaps everything and lets go of the memory; the addresses stay. For what open() has mapped.
  // The caller has seen all work on it complete. failed_precondition: create() made it.
  [[nodiscard]] Result<void> release();
  // Maps other slabs of the same sizes at the same addresses, after release(). Errors: open()'s;
  // nothing is mapped then.
  [[nodiscard]] Result<void> reopen(const std::vector<SlabDescriptor>& slabs);

 private:
  struct AQUA_LOCAL Parts;
  explicit PublishedMemory(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

}  // namespace aqua
