// SPDX-License-Identifier: Apache-2.0
// LlamaModel is a model of Llama's kind: llama.cpp's library computes it over the pages of the
// cache (examples/prefill_decode), and has its language. Its weights lie with the keeper, once for
// all engines, or in memory of its own. An engine whose file is another one, or was written anew,
// cannot join the pool of these.
//
// Threads, errors: as Model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aqua/runtime.hpp"
#include "compute/model.hpp"
#include "compute/vocabulary.hpp"
#include "model/paged_llama.hpp"

namespace aqua::fleet {

class LlamaModel final : public Model {
 public:
  struct Options {
    std::filesystem::path file{};  // GGUF
    std::string keeper{};          // "": weights of its own
    unsigned threads = 1;
    unsigned rows = 256;  // tokens that compute() is given at once, at most
  };
  // Where the keeper has no weights of this file it loads them there, or waits for who does. The
  // runtime outlives it.
  LlamaModel(Runtime& runtime, const Options& options);

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::uint32_t context() const override { return shape_.context; }
  [[nodiscard]] KvPoolShape kv_shape(std::uint32_t blocks) const override;
  void use(const Layout& cache) override;
  [[nodiscard]] std::vector<Token> compute(std::span<const Work> work) override;
  [[nodiscard]] Result<std::vector<Token>> tokens_of(const Text& text) const override;
  [[nodiscard]] bool has(Token token) const override { return vocabulary_.has(token); }
  [[nodiscard]] std::string bytes_of(Token token) const override;
  [[nodiscard]] bool ends(Token token) const override { return vocabulary_.ends(token); }

 private:
  const Options options_;
  const std::string name_;
  const prefill_decode::LlamaShape shape_;
  const Vocabulary vocabulary_;
  const prefill_decode::Weights weights_;
  std::optional<prefill_decode::PagedLlama> llama_{};
};

}  // namespace aqua::fleet
