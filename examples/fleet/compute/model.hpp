// SPDX-License-Identifier: Apache-2.0
// Model is what an engine computes answers with, and the language of its tokens.
//
// Threads: compute() runs in kernels of one stream; the rest any, at the same time.
// Errors:  constructors, use() and compute() throw Failure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "aqua/handoff/kv_pool_options.hpp"
#include "aqua/layout.hpp"
#include "aqua/migration/note.hpp"
#include "aqua/result.hpp"
#include "speech/asked.hpp"

namespace aqua::fleet {

// Some tokens of a sequence, at consecutive positions.
struct Work {
  std::span<const Token> tokens{};
  std::uint32_t first = 0;
  BlockList blocks{};
  migration::Sampler sampler{};
  bool wanted = false;  // the token behind the last one
  bool may_end = true;  // that token may be one that ends the answer
};

class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  // Engines whose models have one name are taken to say the same, to the last token.
  [[nodiscard]] virtual std::string name() const = 0;
  // Tokens of a prompt and its answer, at most.
  [[nodiscard]] virtual std::uint32_t context() const = 0;
  // The shape of a cache of so many blocks.
  [[nodiscard]] virtual KvPoolShape kv_shape(std::uint32_t blocks) const = 0;

  // The KV lies there from now on, at addresses that kernels can follow; what was elsewhere is
  // gone. Called first, and between two calls of compute().
  virtual void use(const Layout& cache) = 0;
  // Computes in the order given, and answers the tokens that are wanted. None of them depends on
  // what else is computed in the same call.
  [[nodiscard]] virtual std::vector<Token> compute(std::span<const Work> work) = 0;

  // invalid_argument: it has no such tokens.
  [[nodiscard]] virtual Result<std::vector<Token>> tokens_of(const Text& text) const = 0;
  [[nodiscard]] virtual bool has(Token token) const = 0;
  // What a token says: bytes, which may be part of a character. None for one that says nothing.
  [[nodiscard]] virtual std::string bytes_of(Token token) const = 0;
  // Whether the answer ends with this one.
  [[nodiscard]] virtual bool ends(Token token) const = 0;
};

// What the last of these tokens adds to their text: the characters that it completes.
[[nodiscard]] std::string last_text(const Model& model, std::span<const Token> tokens);

}  // namespace aqua::fleet
