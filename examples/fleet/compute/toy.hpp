// SPDX-License-Identifier: Apache-2.0
// ToyModel is a transformer in integers, each of whose tokens depends on every byte of KV before
// it: a wrong byte changes all that follows. Its text is numbers, and a byte of a prompt is a
// token.
//
// Threads, errors: as Model.
#pragma once

#include <vector>

#include "compute/model.hpp"
#include "model/toy_model.hpp"

namespace aqua::fleet {

class ToyModel final : public Model {
 public:
  ToyModel(const pipeline::ModelShape& shape, unsigned tokens_per_block)
      : shape_(shape), tokens_per_block_(tokens_per_block) {}

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::uint32_t context() const override { return 1'000'000; }
  [[nodiscard]] KvPoolShape kv_shape(std::uint32_t blocks) const override;
  void use(const Layout& cache) override;
  [[nodiscard]] std::vector<Token> compute(std::span<const Work> work) override;
  [[nodiscard]] Result<std::vector<Token>> tokens_of(const Text& text) const override;
  [[nodiscard]] bool has(Token /*token*/) const override { return true; }
  [[nodiscard]] std::string bytes_of(Token token) const override;
  [[nodiscard]] bool ends(Token /*token*/) const override { return false; }

 private:
  [[nodiscard]] pipeline::KvPlanes planes(unsigned layer, BlockList blocks) const;
  void compute_one(const Work& work, std::vector<Token>& wanted) const;

  const pipeline::ModelShape shape_;
  const unsigned tokens_per_block_;
  std::vector<std::byte*> planes_{};
  std::size_t block_stride_ = 0;  // between a plane's blocks
};

}  // namespace aqua::fleet
