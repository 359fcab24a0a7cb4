// SPDX-License-Identifier: Apache-2.0
// PagedLlama computes a model of Llama's kind by ggml on the CPU, with weights and KV cache where
// others can have them mapped too: keys and values go straight to the blocks of a pool, and are
// read there. Rows of any sequences may be computed together, and a row's result is the same to the
// last bit whatever is computed with it.
//
// Threads: one. Errors: Failure.
#pragma once

#include <span>
#include <vector>

#include "model/llama_shape.hpp"
#include "model/paged_attention.hpp"
#include "model/weights.hpp"

namespace aqua::prefill_decode {

class PagedLlama {
 public:
  // `weights` and what `cache` describes outlive this. `most_rows` at once.
  PagedLlama(const LlamaShape& shape, const Weights& weights, const Layout& cache,
             unsigned most_rows, unsigned threads);

  // Computes the rows and writes their keys and values. Those of one sequence are in order, and
  // everything before them has been computed. Answers the logits of the wanted ones, one after
  // another, valid until the next call.
  [[nodiscard]] std::span<const float> run(std::span<const Row> rows);
  [[nodiscard]] std::size_t vocabulary() const { return vocabulary_; }

 private:
  struct Layer {
    ggml_tensor *attention_norm, *q, *k, *v, *attention_out;
    ggml_tensor *forward_norm, *gate, *up, *down;
    ggml_tensor *keys, *values;  // of every block
  };
  struct Inputs {
    ggml_tensor *tokens, *positions, *slots, *wanted;
  };

  [[nodiscard]] std::span<const float> compute(std::span<const Row> rows);
  [[nodiscard]] ggml_tensor* norm(ggml_context* graph, ggml_tensor* x, ggml_tensor* weight) const;
  [[nodiscard]] ggml_tensor* rope(ggml_context* graph, ggml_tensor* x, const Inputs& in) const;
  [[nodiscard]] ggml_tensor* attention(ggml_context* graph, const Layer& layer, ggml_tensor* x,
                                       const Inputs& in);
  [[nodiscard]] static ggml_tensor* forward(ggml_context* graph, const Layer& layer,
                                            ggml_tensor* x);
  // The logits of `wanted` rows.
  [[nodiscard]] ggml_tensor* logits(ggml_context* graph, const Inputs& in);
  void fill(const Inputs& in, std::span<const Row> rows) const;

  LlamaShape shape_;
  AttentionInput attending_{};
  GgmlBackend backend_;
  GgmlAllocator allocator_;
  GgmlContext planes_;
  ggml_tensor *embedding_, *output_norm_, *output_;
  std::size_t vocabulary_;
  std::size_t most_rows_;
  // ggml multiplies a single row by weights that are not quantized in another order than several.
  bool compute_in_pairs_ = false;
  std::vector<Layer> layers_;
  std::vector<float> logits_;
};

}  // namespace aqua::prefill_decode
