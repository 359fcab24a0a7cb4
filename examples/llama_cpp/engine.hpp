// SPDX-License-Identifier: Apache-2.0
// Model and Engine: llama.cpp behind what this example needs of an engine. Nothing here knows
// of libaqua.
//
// Every llama_decode() holds tokens of one sequence, prompts go in chunks of kChunkTokens, and
// each sequence has a stream of its own (kv_unified = false): a sequence's logits then depend on
// its own tokens alone, to the last bit, whatever happens between two calls.
//
// Threads: one at a time; save() and restore() may be called from another thread while no other
//          call is under way. Errors: every call throws Failure.
#pragma once

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "slot_states.hpp"

namespace aqua::llama_example {

using Token = llama_token;

// The file that was named or, where none was, that $AQUA_LLAMA_MODEL names. Throws Failure without.
[[nodiscard]] std::filesystem::path model_file(const std::filesystem::path& named);

class Model {
 public:
  // With a device it has the KV cache, of every context of this model.
  explicit Model(const std::filesystem::path& file, ggml_backend_dev_t device = nullptr);
  // Loads a model by its metadata. llama.cpp calls `place` with each of its tensors, which gives it
  // values, or an address within `weights`; these live as long as the model.
  Model(gguf_context& metadata, llama_model_set_tensor_data_t place, void* with,
        std::shared_ptr<const void> weights);
  [[nodiscard]] llama_model* get() const { return model_.get(); }
  [[nodiscard]] std::string description() const;
  [[nodiscard]] std::vector<Token> tokenize(const std::string& text) const;
  [[nodiscard]] std::string text_of(std::span<const Token> tokens) const;
  // The bytes of keys and values together, in 16-bit floats.
  [[nodiscard]] std::size_t kv_bytes_per_token() const;
  [[nodiscard]] unsigned layers() const;
  [[nodiscard]] unsigned kv_heads() const;
  [[nodiscard]] bool cache_on_device() const { return cache_on_device_; }

 private:
  struct Free {
    void operator()(llama_model* m) const { llama_model_free(m); }
  };
  std::shared_ptr<const void> weights_{};
  std::unique_ptr<llama_model, Free> model_;
  bool cache_on_device_;
};

struct Prediction {
  Token token = 0;                // the most likely one
  std::uint64_t logits_hash = 0;  // of every bit of all of them
};

class Engine : public SlotStates {
 public:
  static constexpr unsigned kChunkTokens = 256;

  Engine(const Model& model, unsigned slots, unsigned tokens_per_slot, unsigned threads);
  [[nodiscard]] unsigned slots() const { return slots_; }
  // Tokens that the KV cache of such an engine has room for.
  [[nodiscard]] static unsigned cache_tokens(unsigned slots, unsigned tokens_per_slot) {
    return (tokens_per_slot + kChunkTokens - 1) / kChunkTokens * kChunkTokens * slots;
  }

  // Appends tokens to the sequence in `slot`, the first of them at position `past`.
  [[nodiscard]] Prediction decode(unsigned slot, unsigned past, std::span<const Token> tokens);

 private:
  [[nodiscard]] Prediction predict();

  const unsigned slots_;
  const std::size_t vocabulary_;
  llama_batch batch_;  // borrows the vectors below
  std::vector<llama_pos> positions_;
  std::vector<std::int32_t> counts_;
  std::vector<llama_seq_id*> sequence_of_;
  std::vector<std::int8_t> wanted_;
  std::vector<Token> tokens_;
  llama_seq_id sequence_ = 0;
};

}  // namespace aqua::llama_example
