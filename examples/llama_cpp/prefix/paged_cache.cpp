// SPDX-License-Identifier: Apache-2.0
#include "paged_cache.hpp"

#include <algorithm>
#include <cstring>

#include "must.hpp"

namespace aqua::llama_example {

using example::Failure;
using example::must;

PagedCache::PagedCache(Runtime& runtime, const StateView& shape, std::size_t blocks)
    : runtime_(runtime),
      row_bytes_(shape.keys.front().row_bytes),
      stream_(must(emulated::create_stream(runtime), "stream")) {
  for (const auto* rows : {&shape.keys, &shape.values}) {
    for (const StatePlane& plane : *rows) {
      if (plane.row_bytes != row_bytes_) throw Failure("layers of different sizes");
    }
  }
  const std::size_t planes = 2 * shape.keys.size();
  const std::size_t plane = blocks * block_bytes();
  memory_ = must(emulated::allocate(runtime, planes * plane), "allocate");
  LayoutSpec spec{.layers = static_cast<unsigned>(shape.keys.size()),
                  .planes_per_layer = 2,
                  .block_count = static_cast<std::uint32_t>(blocks),
                  .block_stride = block_bytes(),
                  .axes = BlockAxes::whole(block_bytes())};
  for (std::size_t p = 0; p < planes; ++p) spec.planes.push_back(memory_.data() + p * plane);
  layout_ = must(Layout::make(std::move(spec)), "layout");
}

PagedCache::~PagedCache() {
  (void)emulated::destroy_stream(runtime_, stream_);
}

template <typename Copy>
void PagedCache::each_row(BlockList blocks, const StateView& view, Copy copy) {
  kernel([&] {
    const LayoutSpec& spec = layout_->spec();
    for (std::size_t p = 0; p < spec.planes.size(); ++p) {
      const StatePlane& rows = p % 2 == 0 ? view.keys[p / 2] : view.values[p / 2];
      std::byte* plane = emulated::kernel_view(spec.planes[p]);
      for (std::size_t t = 0; t < view.tokens; ++t) {
        const auto position = static_cast<std::size_t>(view.positions[t]);
        if (position / kTokensPerBlock >= blocks.size()) continue;
        copy(plane + blocks[position / kTokensPerBlock] * block_bytes() +
                 position % kTokensPerBlock * row_bytes_,
             rows.offset + t * row_bytes_);
      }
    }
  });
}

void PagedCache::write(BlockList blocks, std::span<const std::byte> state, const StateView& view) {
  each_row(blocks, view, [&](std::byte* in_cache, std::size_t in_state) {
    std::memcpy(in_cache, &state[in_state], row_bytes_);
  });
}

void PagedCache::read(BlockList blocks, std::span<std::byte> state, const StateView& view) {
  each_row(blocks, view, [&](const std::byte* in_cache, std::size_t in_state) {
    std::memcpy(&state[in_state], in_cache, row_bytes_);
  });
}

void PagedCache::fill(std::byte value) {
  kernel([&] {
    std::memset(emulated::kernel_view(memory_.data()), static_cast<int>(value), memory_.bytes());
  });
}

void PagedCache::kernel(const std::function<void()>& work) {
  must(emulated::launch(runtime_, stream_, work), "launch");
  must(emulated::synchronize(runtime_, stream_), "synchronize");
}

}  // namespace aqua::llama_example
