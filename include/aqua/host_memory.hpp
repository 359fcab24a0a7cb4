// SPDX-License-Identifier: Apache-2.0
// HostMemory is host memory that comes from another process as a descriptor, mapped so that this
// process and the work of a runtime's device reach it. Blocks of a cache are gathered into it and
// scattered out of it as into and out of a tensor in host memory (Runtime::offload, fetch).
//
// Nothing here says who may write what when: its users agree on it (aqua::Segments does).
//
// Threads: gather(), scatter() and wait() may be called concurrently. Only wait() blocks.
// Owns:    its mapping, which forked children do not inherit. Must be gone before its runtime, and
//          no work may be in flight on it then.
// Units:   bytes.
#pragma once

#include <cstddef>
#include <memory>

#include "aqua/export.h"
#include "aqua/kv_range.hpp"
#include "aqua/layout.hpp"
#include "aqua/result.hpp"
#include "aqua/slab_descriptor.hpp"
#include "aqua/tensor.hpp"
#include "aqua/ticket.hpp"

namespace aqua {

class Runtime;

class AQUA_API HostMemory {
 public:
  // Maps a memfd of exactly these bytes, a multiple of 2 MiB, that nobody can resize or seal any
  // more; blocks while its pages are taken, where it is to be written, and page-locked for a GPU.
  // The descriptor stays the caller's. Through `Access::read` this process cannot write it, but
  // where the device is a GPU, which page-locks only what can be written.
  //   invalid_argument    anything else
  //   resource_exhausted  the server has no memory left for it
  [[nodiscard]] static Result<HostMemory> map(Runtime& runtime, const SlabDescriptor& memory,
                                              Access access);
  // One that was moved from may only be assigned to or destroyed.
  HostMemory(HostMemory&&) noexcept;
  HostMemory& operator=(HostMemory&&) noexcept;
  ~HostMemory();

  // Address of the first byte, for host threads and for work of the device; fixed for life.
  [[nodiscard]] std::byte* address() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;
  // Whether copies of the device are as fast as they can be. Not so where the device or the
  // system refused to page-lock it: they are correct, and slower.
  [[nodiscard]] bool locked() const noexcept;

  // Moves the listed blocks of a cache here, from `offset` on in the layout's packed form, and
  // back, in stream order. Layout and list are not needed any more afterwards.
  //   invalid_argument     the list, the offset or the stream
  //   permission_denied    gather() into what is mapped to be read
  //   failed_precondition  the stream is being captured into a graph; or this process is a fork
  [[nodiscard]] Result<Ticket> gather(const Layout& layout, BlockList blocks, std::size_t offset,
                                      Stream stream);
  [[nodiscard]] Result<Ticket> scatter(std::size_t offset, const Layout& layout, BlockList blocks,
                                       Stream stream) const;
  // The same for a part of a sequence, whose blocks are listed in the order of its tokens: here it
  // is the packed form of the range, which another layout may have written.
  //   invalid_argument  also: a range that the blocks do not have
  [[nodiscard]] Result<Ticket> gather(const Layout& layout, BlockList blocks, const KvRange& range,
                                      std::size_t offset, Stream stream);
  [[nodiscard]] Result<Ticket> scatter(std::size_t offset, const Layout& layout, BlockList blocks,
                                       const KvRange& range, Stream stream) const;

  // Blocks until every gather() and scatter() so far has ended. The error of the first that failed
  // since the last call, whoever has asked its ticket: the bytes are not what they should be. Where
  // the device could not tell whether one has ended, the next call waits for it again.
  [[nodiscard]] Result<void> wait();

 private:
  struct AQUA_LOCAL Parts;
  explicit HostMemory(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

}  // namespace aqua
