// SPDX-License-Identifier: Apache-2.0
#include "paged_cache.hpp"

#include <algorithm>
#include <cstring>

#include "must.hpp"

namespace aqua::llama_example {

using example::Failure;
using example::must;

PagedCache::PagedCache(Runtime& runtime, const StateView& state, std::size_t blocks,
                       const PagedShape& shape)
    : runtime_(runtime),
      shape_(shape),
      row_bytes_(state.keys.front().row_bytes),
      stream_(must(emulated::create_stream(runtime), "stream")) {
  for (const auto* rows : {&state.keys, &state.values}) {
    for (const StatePlane& plane : *rows) {
      if (plane.row_bytes != row_bytes_) throw Failure("layers of different sizes");
    }
  }
  const std::size_t layers = state.keys.size();
  const std::size_t plane_bytes = blocks * block_bytes();
  memory_ = must(emulated::allocate(runtime, 2 * layers * plane_bytes), "allocate");
  std::vector<std::byte*> keys, values;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    keys.push_back(memory_.data() + 2 * layer * plane_bytes);
    values.push_back(keys.back() + plane_bytes);
  }
  layout_ = must(
      Layout::mha({.layers = static_cast<unsigned>(layers),
                   .block_count = static_cast<std::uint32_t>(blocks),
                   .tokens_per_block = shape.tokens_per_block,
                   .element_bytes = 1},
                  shape.kv_heads, static_cast<unsigned>(row_bytes_ / shape.kv_heads), keys, values),
      "layout");
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
        const std::size_t block = position / shape_.tokens_per_block;
        if (block >= blocks.size()) continue;
        copy(
            plane + blocks[block] * block_bytes() + position % shape_.tokens_per_block * row_bytes_,
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
