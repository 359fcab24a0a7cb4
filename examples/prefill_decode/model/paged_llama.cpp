// SPDX-License-Identifier: Apache-2.0
#include "model/paged_llama.hpp"

#include <ggml-cpu.h>

#include <algorithm>
#include <array>
#include <string>

#include "must.hpp"

namespace aqua::prefill_decode {
namespace {

using example::Failure;

constexpr std::size_t kNodesOfLayer = 40;  // more than there are
constexpr std::size_t kOtherNodes = 32;

// A plane of the cache as a tensor: a row for each token that a block has room for.
ggml_tensor* plane_tensor(ggml_context* context, const Layout& cache, std::size_t plane,
                          std::size_t width) {
  const LayoutSpec& spec = cache.spec();
  const std::size_t row = width * sizeof(ggml_fp16_t);
  const std::size_t block = cache.plane_block_bytes();
  const bool by_tokens = spec.axes == BlockAxes::whole(block) || spec.axes.tokens.stride == row;
  if (!by_tokens || spec.block_stride != block || block % row != 0) {
    throw Failure("the pool's blocks are not one behind another, token by token");
  }
  ggml_tensor* const tensor =
      ggml_new_tensor_2d(context, GGML_TYPE_F16, static_cast<std::int64_t>(width),
                         static_cast<std::int64_t>(spec.block_stride / row * spec.block_count));
  tensor->data = spec.planes[plane];
  return tensor;
}

}  // namespace

PagedLlama::PagedLlama(const LlamaShape& shape, const Weights& weights, const Layout& cache,
                       unsigned most_rows, unsigned threads)
    : shape_(shape),
      backend_(ggml_backend_cpu_init()),
      allocator_(ggml_gallocr_new(ggml_backend_cpu_buffer_type())),
      planes_(ggml_init({.mem_size = (2 * shape.layers + 1) * ggml_tensor_overhead(),
                         .mem_buffer = nullptr,
                         .no_alloc = true})),
      embedding_(weights.get("token_embd.weight")),
      output_norm_(weights.get("output_norm.weight")),
      // Where it has none the embedding serves.
      output_(weights.find("output.weight") != nullptr ? weights.find("output.weight")
                                                       : embedding_),
      vocabulary_(static_cast<std::size_t>(output_->ne[1])),
      most_rows_(most_rows) {
  if (!backend_ || !allocator_ || !planes_) throw Failure("ggml: out of memory");
  if (cache.layers() != shape.layers) throw Failure("the pool has another number of layers");
  ggml_backend_cpu_set_n_threads(backend_.get(), static_cast<int>(threads));
  attending_.kv_heads = shape.kv_heads;
  attending_.tokens_per_block = kTokensPerBlock;
  for (std::uint32_t i = 0; i < shape.layers; ++i) {
    const std::string of = "blk." + std::to_string(i) + ".";
    const auto get = [&](const char* name) { return weights.get(of + name + ".weight"); };
    layers_.push_back({.attention_norm = get("attn_norm"),
                       .q = get("attn_q"),
                       .k = get("attn_k"),
                       .v = get("attn_v"),
                       .attention_out = get("attn_output"),
                       .forward_norm = get("ffn_norm"),
                       .gate = get("ffn_gate"),
                       .up = get("ffn_up"),
                       .down = get("ffn_down"),
                       .keys = plane_tensor(planes_.get(), cache, 2 * i, shape.kv_width()),
                       .values = plane_tensor(planes_.get(), cache, 2 * i + 1, shape.kv_width())});
    const Layer& layer = layers_.back();
    for (const ggml_tensor* matrix : {layer.q, layer.k, layer.v, layer.attention_out, layer.gate,
                                      layer.up, layer.down, output_}) {
      compute_in_pairs_ = compute_in_pairs_ || !ggml_is_quantized(matrix->type);
    }
  }
}

ggml_tensor* PagedLlama::norm(ggml_context* graph, ggml_tensor* x, ggml_tensor* weight) const {
  return ggml_mul(graph, ggml_rms_norm(graph, x, shape_.norm_epsilon), weight);
}

ggml_tensor* PagedLlama::rope(ggml_context* graph, ggml_tensor* x, const Inputs& in) const {
  constexpr int kPairsSideBySide = 0;  // as GGUF files of Llama's kind have their heads
  return ggml_rope_ext(graph, x, in.positions, nullptr, static_cast<int>(shape_.rope_width),
                       kPairsSideBySide, static_cast<int>(shape_.context), shape_.rope_base, 1, 0,
                       1, 32, 1);
}

ggml_tensor* PagedLlama::attention(ggml_context* graph, const Layer& layer, ggml_tensor* x,
                                   const Inputs& in) {
  const std::int64_t rows = x->ne[1];
  const std::int64_t width = shape_.head_width;
  ggml_tensor* const q =
      rope(graph,
           ggml_reshape_3d(graph, ggml_mul_mat(graph, layer.q, x), width, shape_.heads, rows), in);
  ggml_tensor* const k = rope(
      graph, ggml_reshape_3d(graph, ggml_mul_mat(graph, layer.k, x), width, shape_.kv_heads, rows),
      in);
  ggml_tensor* const v = ggml_mul_mat(graph, layer.v, x);
  ggml_tensor* const keys = ggml_set_rows(
      graph, layer.keys, ggml_reshape_2d(graph, k, shape_.kv_width(), rows), in.slots);
  ggml_tensor* const values = ggml_set_rows(graph, layer.values, v, in.slots);
  ggml_tensor* const read = paged_attention(graph, q, keys, values, attending_);
  return ggml_mul_mat(graph, layer.attention_out,
                      ggml_reshape_2d(graph, read, width * shape_.heads, rows));
}

ggml_tensor* PagedLlama::forward(ggml_context* graph, const Layer& layer, ggml_tensor* x) {
  ggml_tensor* const gate = ggml_silu(graph, ggml_mul_mat(graph, layer.gate, x));
  return ggml_mul_mat(graph, layer.down, ggml_mul(graph, gate, ggml_mul_mat(graph, layer.up, x)));
}

ggml_tensor* PagedLlama::logits(ggml_context* graph, const Inputs& in) {
  ggml_tensor* x = ggml_get_rows(graph, embedding_, in.tokens);
  for (const Layer& layer : layers_) {
    x = ggml_add(graph, x, attention(graph, layer, norm(graph, x, layer.attention_norm), in));
    x = ggml_add(graph, x, forward(graph, layer, norm(graph, x, layer.forward_norm)));
  }
  x = ggml_get_rows(graph, x, in.wanted);
  return ggml_mul_mat(graph, output_, norm(graph, x, output_norm_));
}

void PagedLlama::fill(const Inputs& in, std::span<const Row> rows) const {
  std::vector<std::int32_t> tokens, positions, wanted;
  std::vector<std::int64_t> slots;
  for (const Row& row : rows) {
    if (row.wanted) wanted.push_back(static_cast<std::int32_t>(tokens.size()));
    tokens.push_back(row.token);
    positions.push_back(static_cast<std::int32_t>(row.position));
    slots.push_back(std::int64_t{row.blocks[row.position / kTokensPerBlock]} * kTokensPerBlock +
                    row.position % kTokensPerBlock);
  }
  // ggml has no tensor of no rows; and see compute_in_pairs_.
  wanted.resize(static_cast<std::size_t>(in.wanted->ne[0]), 0);
  const auto set = [](ggml_tensor* tensor, const auto& values) {
    ggml_backend_tensor_set(tensor, values.data(), 0, values.size() * sizeof(values[0]));
  };
  set(in.tokens, tokens);
  set(in.positions, positions);
  set(in.slots, slots);
  set(in.wanted, wanted);
}

std::span<const float> PagedLlama::run(std::span<const Row> rows) {
  if (rows.empty() || rows.size() > most_rows_) throw Failure("so many rows at once");
  if (rows.size() > 1 || !compute_in_pairs_) return compute(rows);
  std::array pair{rows.front(), rows.front()};
  pair.back().wanted = false;
  return compute(pair);
}

std::span<const float> PagedLlama::compute(std::span<const Row> rows) {
  const auto wanted = static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.wanted; }));
  const std::size_t nodes = layers_.size() * kNodesOfLayer + kOtherNodes;
  const GgmlContext context(ggml_init(
      {.mem_size = nodes * ggml_tensor_overhead() + ggml_graph_overhead_custom(nodes, false),
       .mem_buffer = nullptr,
       .no_alloc = true}));
  ggml_context* const graph = context.get();
  const auto input = [&](ggml_type type, std::size_t count) {
    ggml_tensor* const tensor = ggml_new_tensor_1d(graph, type, static_cast<std::int64_t>(count));
    ggml_set_input(tensor);
    return tensor;
  };
  const Inputs in{
      .tokens = input(GGML_TYPE_I32, rows.size()),
      .positions = input(GGML_TYPE_I32, rows.size()),
      .slots = input(GGML_TYPE_I64, rows.size()),
      .wanted = input(GGML_TYPE_I32, std::max<std::size_t>(wanted, compute_in_pairs_ ? 2 : 1))};
  attending_.rows = rows;
  ggml_tensor* const out = logits(graph, in);
  ggml_set_output(out);
  ggml_cgraph* const plan = ggml_new_graph_custom(graph, nodes, false);
  ggml_build_forward_expand(plan, out);
  if (!ggml_gallocr_alloc_graph(allocator_.get(), plan)) throw Failure("ggml: out of memory");
  fill(in, rows);
  if (ggml_backend_graph_compute(backend_.get(), plan) != GGML_STATUS_SUCCESS) {
    throw Failure("ggml cannot compute the graph");
  }
  logits_.resize(wanted * vocabulary_);
  ggml_backend_tensor_get(out, logits_.data(), 0, logits_.size() * sizeof(float));
  return logits_;
}

}  // namespace aqua::prefill_decode
