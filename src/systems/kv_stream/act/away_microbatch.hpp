// SPDX-License-Identifier: Apache-2.0
// AwayMicrobatch is the KV of one microbatch off the device, a tensor for each layer, and which of
// its blocks hold anything.
//
// Threads: one at a time. Owns: the tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aqua/layout.hpp"
#include "aqua/runtime.hpp"
#include "aqua/tensor.hpp"
#include "aqua/ticket.hpp"

namespace aqua::kv_stream {

// Tickets of copies that several wait for.
using Tickets = std::vector<std::shared_ptr<Ticket>>;

// A buffer on the device, a layout for each of its layers.
[[nodiscard]] Result<std::vector<Layout>> layers_of(const Layout& buffer);

class AwayMicrobatch {
 public:
  // `like`: any of the buffers, by layer.
  [[nodiscard]] static Result<AwayMicrobatch> create(Runtime& runtime,
                                                     const std::vector<Layout>& like,
                                                     const std::string& name);

  [[nodiscard]] bool empty() const noexcept { return held_ == 0; }
  void hold(BlockList blocks);
  void drop(BlockList blocks);
  void drop_all();

  // Posts the copies of all held blocks into a buffer, or of `blocks` out of it, and adds their
  // tickets, also of those posted before an error. Returns the bytes.
  [[nodiscard]] Result<std::size_t> fetch(Runtime& runtime, const std::vector<Layout>& buffer,
                                          Stream stream, Tickets& tickets);
  [[nodiscard]] Result<std::size_t> offload(Runtime& runtime, const std::vector<Layout>& buffer,
                                            BlockList blocks, Stream stream, Tickets& tickets);

  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::size_t peer_bytes() const;  // of these

 private:
  AwayMicrobatch(std::vector<AquaTensor> tensors, std::uint32_t blocks)
      : tensors_(std::move(tensors)), holds_(blocks, false) {}
  [[nodiscard]] TensorPages pages(BlockList blocks) const {
    return {static_cast<std::uint32_t>(holds_.size()), blocks, 0};
  }

  std::vector<AquaTensor> tensors_;  // by layer
  std::vector<bool> holds_;          // by block
  std::size_t held_ = 0;
};

}  // namespace aqua::kv_stream
