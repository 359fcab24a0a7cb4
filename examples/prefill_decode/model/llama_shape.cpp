// SPDX-License-Identifier: Apache-2.0
#include "model/llama_shape.hpp"

#include <string>

#include "model/ggml_handles.hpp"
#include "must.hpp"

namespace aqua::prefill_decode {
namespace {

using example::Failure;

class Metadata {
 public:
  explicit Metadata(const std::filesystem::path& file)
      : name_(file), file_(gguf_init_from_file(file.c_str(), {.no_alloc = true, .ctx = nullptr})) {
    if (!file_) throw Failure(name_ + ": ggml cannot read it");
    const auto key = find("general.architecture", GGUF_TYPE_STRING);
    const std::string architecture = key < 0 ? "?" : gguf_get_val_str(file_.get(), key);
    if (architecture != "llama") {
      throw Failure(name_ + ": its architecture is " + architecture + ", expected llama");
    }
  }

  [[nodiscard]] std::uint32_t number(const char* key) const {
    const auto at = find(key, GGUF_TYPE_UINT32);
    if (at < 0) throw Failure(name_ + ": no " + key);
    const std::uint32_t value = gguf_get_val_u32(file_.get(), at);
    if (value == 0) throw Failure(name_ + ": " + key + " is 0");
    return value;
  }
  [[nodiscard]] std::uint32_t number(const char* key, std::uint32_t otherwise) const {
    return has(key) ? number(key) : otherwise;
  }
  [[nodiscard]] float real(const char* key, float otherwise) const {
    return has(key) ? gguf_get_val_f32(file_.get(), find(key, GGUF_TYPE_FLOAT32)) : otherwise;
  }
  [[nodiscard]] bool has(const char* key) const { return gguf_find_key(file_.get(), key) >= 0; }
  // What the forward does not compute, rather than a wrong answer.
  void refuse(const char* what, bool there) const {
    if (there) throw Failure(name_ + ": " + what + " is not computed here");
  }
  [[nodiscard]] bool has_tensor(const char* name) const {
    return gguf_find_tensor(file_.get(), name) >= 0;
  }

 private:
  // Below 0: it is not there. Throws Failure where it is of another type.
  [[nodiscard]] std::int64_t find(const char* key, gguf_type type) const {
    const auto at = gguf_find_key(file_.get(), key);
    if (at >= 0 && gguf_get_kv_type(file_.get(), at) != type) {
      throw Failure(name_ + ": " + key + " is of another type than expected");
    }
    return at;
  }

  std::string name_;
  GgufFile file_;
};

}  // namespace

LlamaShape read_llama_shape(const std::filesystem::path& file) {
  const Metadata metadata(file);
  LlamaShape shape;
  shape.layers = metadata.number("llama.block_count");
  shape.width = metadata.number("llama.embedding_length");
  shape.heads = metadata.number("llama.attention.head_count");
  shape.kv_heads = metadata.number("llama.attention.head_count_kv", shape.heads);
  shape.context = metadata.number("llama.context_length");
  if (shape.heads % shape.kv_heads != 0 || shape.width % shape.heads != 0) {
    throw Failure(file.string() + ": its heads do not divide its width");
  }
  shape.head_width = metadata.number("llama.attention.key_length", shape.width / shape.heads);
  shape.rope_width = metadata.number("llama.rope.dimension_count", shape.head_width);
  metadata.refuse(
      "another width of values than of keys",
      metadata.number("llama.attention.value_length", shape.head_width) != shape.head_width);
  metadata.refuse("scaled rotation", metadata.has("llama.rope.scaling.type") ||
                                         metadata.has_tensor("rope_freqs.weight"));
  metadata.refuse("a bias", metadata.has_tensor("blk.0.attn_q.bias"));
  metadata.refuse("a mixture of experts", metadata.has("llama.expert_count"));
  shape.rope_base = metadata.real("llama.rope.freq_base", shape.rope_base);
  shape.norm_epsilon = metadata.real("llama.attention.layer_norm_rms_epsilon", shape.norm_epsilon);
  return shape;
}

KvPoolShape kv_shape(const LlamaShape& shape, std::uint32_t blocks) {
  return {
      .layers = shape.layers,
      .planes_per_layer = 2,
      .plane_block_bytes = std::size_t{shape.kv_width()} * sizeof(ggml_fp16_t) * kTokensPerBlock,
      .tokens_per_block = kTokensPerBlock,
      .blocks = blocks,
      .format = "f16 " + std::to_string(shape.kv_heads) + "x" + std::to_string(shape.head_width)};
}

}  // namespace aqua::prefill_decode
