// SPDX-License-Identifier: Apache-2.0
#include "compute/toy.hpp"

#include <string>

namespace aqua::fleet {
namespace {

using pipeline::Hidden;
using pipeline::KvPlanes;

constexpr unsigned kPlanesPerLayer = 2;  // keys, values

}  // namespace

std::string ToyModel::name() const {
  return "integers-" + std::to_string(shape_.layers) + "x" + std::to_string(shape_.kv_heads) + "x" +
         std::to_string(shape_.head_bytes);
}

KvPoolShape ToyModel::kv_shape(std::uint32_t blocks) const {
  return {.layers = shape_.layers,
          .planes_per_layer = kPlanesPerLayer,
          .plane_block_bytes = std::size_t{tokens_per_block_} * shape_.kv_heads * shape_.head_bytes,
          .tokens_per_block = tokens_per_block_,
          .blocks = blocks,
          .format = "integers, " + std::to_string(shape_.kv_heads) + " heads of " +
                    std::to_string(shape_.head_bytes) + " bytes"};
}

void ToyModel::use(const Layout& cache) {
  planes_ = cache.spec().planes;
  block_stride_ = cache.spec().block_stride;
}

KvPlanes ToyModel::planes(unsigned layer, BlockList blocks) const {
  return {.keys = planes_[kPlanesPerLayer * layer],
          .values = planes_[kPlanesPerLayer * layer + 1],
          .block_stride = block_stride_,
          .token_stride = std::size_t{shape_.kv_heads} * shape_.head_bytes,
          .head_stride = shape_.head_bytes,
          .tokens_per_block = tokens_per_block_,
          .blocks = blocks};
}

void ToyModel::compute_one(const Work& work, std::vector<Token>& wanted) const {
  const pipeline::Part whole = pipeline::part_of(shape_, {1, 1}, 0, 0);
  std::vector<Hidden> hidden;
  for (const Token token : work.tokens) hidden.push_back(pipeline::embed(token));
  for (unsigned layer = 0; layer < shape_.layers; ++layer) {
    const KvPlanes kv = planes(layer, work.blocks);
    for (std::uint32_t i = 0; i < hidden.size(); ++i) {
      const std::uint32_t position = work.first + i;
      pipeline::write_kv(shape_, whole, layer, kv, position, hidden[i]);
      const Hidden sum = pipeline::attend(shape_, whole, layer, kv, position, hidden[i]);
      hidden[i] = pipeline::finish_layer(layer, hidden[i], sum);
    }
  }
  if (!work.wanted) return;
  const auto last = work.first + static_cast<std::uint32_t>(work.tokens.size()) - 1;
  wanted.push_back(pipeline::sample(hidden.back(), work.sampler.seed, last));
}

std::vector<Token> ToyModel::compute(std::span<const Work> work) {
  std::vector<Token> wanted;
  for (const Work& one : work) compute_one(one, wanted);
  return wanted;
}

Result<std::vector<Token>> ToyModel::tokens_of(const Text& text) const {
  if (!text.chat.empty()) return Error{Code::invalid_argument, "this model has no chats"};
  std::vector<Token> tokens;
  for (const char byte : text.prompt) tokens.push_back(static_cast<unsigned char>(byte));
  return tokens;
}

std::string ToyModel::bytes_of(Token token) const {
  std::string text = std::to_string(token);
  return text.insert(0, 1, ' ');
}

}  // namespace aqua::fleet
