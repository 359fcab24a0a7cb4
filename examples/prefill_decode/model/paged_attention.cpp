// SPDX-License-Identifier: Apache-2.0
#include "model/paged_attention.hpp"

#include <ggml-cpu.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace aqua::prefill_decode {
namespace {

// A head of keys or values of every token in the pool.
class Head {
 public:
  Head(const ggml_tensor* plane, std::size_t head, std::size_t width)
      : first_(static_cast<const char*>(plane->data) + head * width * sizeof(ggml_fp16_t)),
        stride_(plane->nb[1]) {}
  [[nodiscard]] const ggml_fp16_t* of(std::size_t slot) const {
    return reinterpret_cast<const ggml_fp16_t*>(first_ + slot * stride_);
  }

 private:
  const char* first_;
  std::size_t stride_;
};

// Where the tokens of a row's sequence lie in a plane, up to the row's own.
void find_slots(const Row& row, std::uint32_t tokens_per_block, std::vector<std::size_t>& slots) {
  slots.resize(row.position + 1);
  for (std::uint32_t i = 0; i <= row.position; ++i) {
    slots[i] =
        std::size_t{row.blocks[i / tokens_per_block]} * tokens_per_block + i % tokens_per_block;
  }
}

// Turns scores into weights that sum up to 1.
void softmax(std::span<float> scores) {
  const float most = *std::max_element(scores.begin(), scores.end());
  float sum = 0;
  for (float& score : scores) sum += score = std::exp(score - most);
  for (float& score : scores) score /= sum;
}

// The query heads that read one head of keys and values.
struct Group {
  std::size_t heads = 0, width = 0;
  const float* query = nullptr;  // [heads][width]
  float* out = nullptr;          // likewise
};

struct Scratch {
  std::vector<std::size_t> slots{};
  std::vector<ggml_fp16_t> query{};
  std::vector<float> scores{};  // [heads][tokens]
  std::vector<float> value{};
};

void attend(const Group& group, const Head& keys, const Head& values, Scratch& scratch) {
  static const auto dot = ggml_get_type_traits_cpu(GGML_TYPE_F16)->vec_dot;
  const std::size_t tokens = scratch.slots.size();
  const float scale = 1.0F / std::sqrt(static_cast<float>(group.width));
  scratch.query.resize(group.heads * group.width);
  ggml_cpu_fp32_to_fp16(group.query, scratch.query.data(),
                        static_cast<std::int64_t>(scratch.query.size()));
  scratch.scores.resize(group.heads * tokens);
  for (std::size_t i = 0; i < tokens; ++i) {
    const ggml_fp16_t* const key = keys.of(scratch.slots[i]);
    for (std::size_t h = 0; h < group.heads; ++h) {
      float* const score = &scratch.scores[h * tokens + i];
      dot(static_cast<int>(group.width), score, 0, key, 0, &scratch.query[h * group.width], 0, 1);
      *score *= scale;
    }
  }
  for (std::size_t h = 0; h < group.heads; ++h) {
    softmax(std::span(scratch.scores).subspan(h * tokens, tokens));
  }
  std::fill_n(group.out, group.heads * group.width, 0.0F);
  scratch.value.resize(group.width);
  for (std::size_t i = 0; i < tokens; ++i) {
    ggml_cpu_fp16_to_fp32(values.of(scratch.slots[i]), scratch.value.data(),
                          static_cast<std::int64_t>(group.width));
    for (std::size_t h = 0; h < group.heads; ++h) {
      const float weight = scratch.scores[h * tokens + i];
      float* const out = group.out + h * group.width;
      for (std::size_t j = 0; j < group.width; ++j) out[j] += weight * scratch.value[j];
    }
  }
}

// ggml calls it on each of its threads; they take heads of rows in turn.
void run(ggml_tensor* out, int thread, int threads, void* user) {
  const auto& input = *static_cast<const AttentionInput*>(user);
  const ggml_tensor* const query = out->src[0];
  const auto width = static_cast<std::size_t>(query->ne[0]);
  const std::size_t group = static_cast<std::size_t>(query->ne[1]) / input.kv_heads;
  Scratch scratch;
  std::size_t turn = 0;
  for (std::size_t r = 0; r < input.rows.size(); ++r) {
    bool found = false;
    for (std::size_t head = 0; head < input.kv_heads; ++head) {
      if (turn++ % static_cast<std::size_t>(threads) != static_cast<std::size_t>(thread)) continue;
      if (!found) find_slots(input.rows[r], input.tokens_per_block, scratch.slots);
      found = true;
      const std::size_t at = (r * input.kv_heads + head) * group * width;
      attend({.heads = group,
              .width = width,
              .query = static_cast<const float*>(query->data) + at,
              .out = static_cast<float*>(out->data) + at},
             Head(out->src[1], head, width), Head(out->src[2], head, width), scratch);
    }
  }
}

}  // namespace

ggml_tensor* paged_attention(ggml_context* graph, ggml_tensor* query, ggml_tensor* keys,
                             ggml_tensor* values, AttentionInput& input) {
  std::array<ggml_tensor*, 3> from{query, keys, values};
  return ggml_custom_4d(graph, GGML_TYPE_F32, query->ne[0], query->ne[1], query->ne[2], 1,
                        from.data(), static_cast<int>(from.size()), run, GGML_N_TASKS_MAX, &input);
}

}  // namespace aqua::prefill_decode
