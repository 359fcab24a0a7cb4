// SPDX-License-Identifier: Apache-2.0
// Transfers between blocks of a cache and pages of a tensor.
#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/trace_range.hpp"
#include "base/try.hpp"
#include "layout/block_pieces.hpp"
#include "layout/range_copy.hpp"
#include "runtime/impl.hpp"
#include "tensor/entry.hpp"

namespace aqua {
namespace {

// The tensor's side, whose first page lies at `base`.
Result<Layout> layout_of(const Layout& cache, std::uint32_t count, std::byte* base) {
  const std::size_t block = cache.plane_block_bytes();
  LayoutSpec spec = cache.spec();
  for (std::size_t p = 0; p < spec.planes.size(); ++p) spec.planes[p] = base + p * count * block;
  spec.block_count = count;
  spec.block_stride = block;
  spec.axes = layout::without_gaps(spec.axes);
  return Layout::make(std::move(spec));
}

}  // namespace

Result<Ticket> Runtime::Impl::post_pages(const Layout& layout, BlockList blocks,
                                         const KvRange& range, const Pin& pin,
                                         const TensorPages& pages, Stream stream,
                                         transfer::Direction direction) {
  AQUA_ASSIGN(const Layout there, layout_of(layout, pages.count, pin.data()));
  AQUA_ASSIGN(const KvRange exact, layout::resolve(layout, blocks.size(), range));
  std::vector<Ticket> parts;
  for (const KvRange& part : layout::whole_blocks_apart(layout, exact)) {
    AQUA_ASSIGN(auto ticket, post({.layout = &layout,
                                   .blocks = blocks,
                                   .range = part,
                                   .paged = transfer::PagedTensor{&there, pages.pages, part},
                                   .direction = direction},
                                  pin, stream));
    parts.push_back(std::move(ticket));
  }
  return parts.size() == 1 ? std::move(parts.front()) : Ticket::join(std::move(parts));
}

Result<Ticket> Runtime::Impl::move_pages(const Layout& layout, BlockList blocks,
                                         const KvRange& range, AquaTensor& tensor,
                                         const TensorPages& pages, Stream stream,
                                         transfer::Direction direction) {
  const bool fetches = direction == transfer::Direction::fetch;
  const TraceRange trace(fetches ? "aqua fetch" : "aqua offload");
  AQUA_TRY(check_process());
  const std::size_t block = layout.block_bytes();
  if (pages.count == 0 || pages.count > SIZE_MAX / block || pages.pages.size() != blocks.size()) {
    return Error{Code::invalid_argument, concat("pages: ", pages.pages.size(), " pages of ",
                                                pages.count, " for ", blocks.size(), " blocks")};
  }
  const ByteRange bytes{pages.offset, pages.count * block};
  if (fetches) {
    AQUA_ASSIGN(const Pin pin, tensor.pin(Access::read, stream, bytes));
    return post_pages(layout, blocks, range, pin, pages, stream, direction);
  }
  const auto& entry = detail::Internals::entry(tensor);
  if (entry == nullptr)
    return Error{Code::failed_precondition, "offload: this handle holds no tensor"};
  AQUA_ASSIGN(const auto pins, entry->pin_for_copy(stream, bytes));
  AQUA_ASSIGN(Ticket here, post_pages(layout, blocks, range, pins.here, pages, stream, direction));
  if (!pins.there.held()) return here;
  AQUA_ASSIGN(Ticket there,
              post_pages(layout, blocks, range, pins.there, pages, stream, direction));
  std::vector<Ticket> both;
  both.push_back(std::move(here));
  both.push_back(std::move(there));
  return Ticket::join(std::move(both));
}

}  // namespace aqua
