// SPDX-License-Identifier: Apache-2.0
// llama_random_model FILE.gguf [SEED]: writes a small model of random weights, in the shape of
// Llama with grouped queries and a vocabulary of bytes. It says nothing sensible, but what it says
// depends on every bit of its KV cache, which is all that tests need.
#include <ggml.h>
#include <gguf.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kLayers = 4, kWidth = 64, kHeads = 4, kKvHeads = 2, kInner = 128;
constexpr std::int64_t kHeadWidth = kWidth / kHeads, kBytes = 256, kSpecial = 3;
constexpr std::int64_t kVocabulary = kBytes + kSpecial;

struct FreeFile {
  void operator()(gguf_context* c) const { gguf_free(c); }
};
struct FreeTensors {
  void operator()(ggml_context* c) const { ggml_free(c); }
};

class RandomModel {
 public:
  explicit RandomModel(unsigned seed)
      : random_(seed),
        file_(gguf_init_empty()),
        tensors_(ggml_init(
            {.mem_size = std::size_t{16} << 20, .mem_buffer = nullptr, .no_alloc = false})) {
    describe();
    name_tokens();
    add("token_embd.weight", kWidth, kVocabulary);
    for (std::int64_t i = 0; i < kLayers; ++i) {
      const std::string layer = "blk." + std::to_string(i) + ".";
      ones(layer + "attn_norm.weight");
      add(layer + "attn_q.weight", kWidth, kHeads * kHeadWidth);
      add(layer + "attn_k.weight", kWidth, kKvHeads * kHeadWidth);
      add(layer + "attn_v.weight", kWidth, kKvHeads * kHeadWidth);
      add(layer + "attn_output.weight", kHeads * kHeadWidth, kWidth);
      ones(layer + "ffn_norm.weight");
      add(layer + "ffn_gate.weight", kWidth, kInner);
      add(layer + "ffn_up.weight", kWidth, kInner);
      add(layer + "ffn_down.weight", kInner, kWidth);
    }
    ones("output_norm.weight");
    add("output.weight", kWidth, kVocabulary);
  }
  [[nodiscard]] bool write(const char* path) const {
    return gguf_write_to_file(file_.get(), path, false);
  }

 private:
  void number(const char* key, std::int64_t value) {
    gguf_set_val_u32(file_.get(), key, static_cast<std::uint32_t>(value));
  }
  void describe() {
    gguf_set_val_str(file_.get(), "general.architecture", "llama");
    gguf_set_val_str(file_.get(), "general.name", "random weights");
    number("llama.block_count", kLayers);
    number("llama.context_length", 32'768);
    number("llama.embedding_length", kWidth);
    number("llama.feed_forward_length", kInner);
    number("llama.attention.head_count", kHeads);
    number("llama.attention.head_count_kv", kKvHeads);
    number("llama.rope.dimension_count", kHeadWidth);
    number("llama.vocab_size", kVocabulary);
    gguf_set_val_f32(file_.get(), "llama.attention.layer_norm_rms_epsilon", 1e-5F);
    gguf_set_val_f32(file_.get(), "llama.rope.freq_base", 10'000);
  }
  // The bytes, as SentencePiece writes them, after unknown, begin and end.
  void name_tokens() {
    constexpr std::int32_t kUnknown = 2, kControl = 3, kByte = 6;  // llama.cpp's kinds of token
    std::vector<std::string> names{"<unk>", "<s>", "</s>"};
    std::vector<std::int32_t> kinds{kUnknown, kControl, kControl};
    for (int byte = 0; byte < kBytes; ++byte) {
      std::array<char, 8> name{};
      (void)std::snprintf(name.data(), name.size(), "<0x%02X>", static_cast<unsigned>(byte));
      names.emplace_back(name.data());
      kinds.push_back(kByte);
    }
    std::vector<const char*> pointers;
    for (const std::string& name : names) pointers.push_back(name.c_str());
    const std::vector<float> scores(names.size(), 0);
    gguf_set_val_str(file_.get(), "tokenizer.ggml.model", "llama");
    gguf_set_arr_str(file_.get(), "tokenizer.ggml.tokens", pointers.data(), pointers.size());
    gguf_set_arr_data(file_.get(), "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, scores.data(),
                      scores.size());
    gguf_set_arr_data(file_.get(), "tokenizer.ggml.token_type", GGUF_TYPE_INT32, kinds.data(),
                      kinds.size());
    // llama.cpp knows this form of a chat by its words.
    gguf_set_val_str(file_.get(), "tokenizer.chat_template", "<|im_start|>");
    number("tokenizer.ggml.bos_token_id", 1);
    number("tokenizer.ggml.eos_token_id", 2);
  }
  void add(const std::string& name, std::int64_t in, std::int64_t out) {
    ggml_tensor* tensor = ggml_new_tensor_2d(tensors_.get(), GGML_TYPE_F32, in, out);
    std::normal_distribution<float> weight(0, 1.6F / std::sqrt(static_cast<float>(in)));
    fill(tensor, name, [&] { return weight(random_); });
  }
  void ones(const std::string& name) {
    fill(ggml_new_tensor_1d(tensors_.get(), GGML_TYPE_F32, kWidth), name, [] { return 1.0F; });
  }
  template <typename F>
  void fill(ggml_tensor* tensor, const std::string& name, F&& value) {
    ggml_set_name(tensor, name.c_str());
    auto* data = static_cast<float*>(tensor->data);
    for (std::int64_t i = 0; i < ggml_nelements(tensor); ++i) data[i] = value();
    gguf_add_tensor(file_.get(), tensor);
  }

  std::mt19937 random_;
  std::unique_ptr<gguf_context, FreeFile> file_;
  std::unique_ptr<ggml_context, FreeTensors> tensors_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || argv[1][0] == '-') {
    std::fprintf(stderr, "usage: llama_random_model FILE.gguf [SEED]\n");
    return 2;
  }
  const RandomModel model(argc == 3 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10))
                                    : 1);
  if (model.write(argv[1])) return 0;
  std::fprintf(stderr, "llama_random_model: cannot write %s\n", argv[1]);
  return 1;
}
