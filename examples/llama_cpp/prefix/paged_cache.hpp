// SPDX-License-Identifier: Apache-2.0
// PagedCache: a paged KV cache in the device memory of an emulated GPU, shaped as the states of a
// model are: a plane of blocks for each layer's keys and one for its values. llama.cpp gives no
// addresses of its own cache; a state's rows are copied into blocks here and out of them.
//
// Threads: one. Owns: the memory and a stream; the runtime outlives it. Errors: Failure.
#pragma once

#include <functional>
#include <optional>

#include "aqua/emulated.hpp"
#include "aqua/layout.hpp"
#include "aqua/runtime.hpp"
#include "state_view.hpp"

namespace aqua::llama_example {

inline constexpr unsigned kTokensPerBlock = 16;

struct PagedShape {
  unsigned tokens_per_block = kTokensPerBlock;
  unsigned kv_heads = 1;  // that a row divides into, where heads are to be told apart

  // Blocks that so many tokens take.
  [[nodiscard]] std::size_t blocks_of(std::size_t tokens) const {
    return (tokens + tokens_per_block - 1) / tokens_per_block;
  }
};

class PagedCache {
 public:
  // `blocks` of them, of layers like those of this state.
  PagedCache(Runtime& runtime, const StateView& state, std::size_t blocks,
             const PagedShape& shape = {});
  ~PagedCache();
  PagedCache(const PagedCache&) = delete;
  PagedCache& operator=(const PagedCache&) = delete;

  // The bytes of a block in one plane.
  [[nodiscard]] std::size_t block_bytes() const { return shape_.tokens_per_block * row_bytes_; }
  [[nodiscard]] const Layout& layout() const { return *layout_; }
  [[nodiscard]] Stream stream() const { return stream_; }

  // Copies each row of the state, of the token at its position, into the blocks listed, or out of
  // them. Rows of tokens beyond the list are left out. Waits for the stream.
  void write(BlockList blocks, std::span<const std::byte> state, const StateView& view);
  void read(BlockList blocks, std::span<std::byte> state, const StateView& view);
  void fill(std::byte value);

 private:
  template <typename Copy>
  void each_row(BlockList blocks, const StateView& view, Copy copy);
  void kernel(const std::function<void()>& work);

  Runtime& runtime_;
  const PagedShape shape_;
  const std::size_t row_bytes_;
  Stream stream_;
  emulated::Memory memory_;
  std::optional<Layout> layout_;
};

}  // namespace aqua::llama_example
