// SPDX-License-Identifier: Apache-2.0
// PagedEngine has its KV in the pool's blocks from the beginning, so that put() and get() have
// nothing to copy. That it lies there is not shown by what they answer: the play looks at which
// memory each process has mapped, and how much of it, and compares the logits.
#pragma once

#include "model/paged_llama.hpp"
#include "serve/kv_engine.hpp"

namespace aqua::prefill_decode {

class PagedEngine final : public KvEngine {
 public:
  explicit PagedEngine(PagedLlama& model) : model_(model) {}
  [[nodiscard]] std::vector<Prediction> compute(std::span<const Part> parts) override;
  [[nodiscard]] std::size_t put(std::uint64_t, BlockList) override { return 0; }
  [[nodiscard]] std::size_t get(std::uint64_t, BlockList, std::uint32_t) override { return 0; }
  void drop(std::uint64_t) override {}

 private:
  PagedLlama& model_;
};

}  // namespace aqua::prefill_decode
