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

class PagedCache {
 public:
  // `blocks` of kTokensPerBlock tokens, of layers like those of this state.
  PagedCache(Runtime& runtime, const StateView& shape, std::size_t blocks);
  ~PagedCache();
  PagedCache(const PagedCache&) = delete;
  PagedCache& operator=(const PagedCache&) = delete;

  // Blocks that so many tokens take.
  [[nodiscard]] static std::size_t blocks_of(std::size_t tokens) {
    return (tokens + kTokensPerBlock - 1) / kTokensPerBlock;
  }
  [[nodiscard]] std::size_t block_bytes() const { return kTokensPerBlock * row_bytes_; }  // a plane
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
  const std::size_t row_bytes_;
  Stream stream_;
  emulated::Memory memory_;
  std::optional<Layout> layout_;
};

}  // namespace aqua::llama_example
