// SPDX-License-Identifier: Apache-2.0
#include "tests/examples/fleet/reference.hpp"

#include <cstddef>

#include "model/toy_model.hpp"

namespace aqua::fleet::test {

using namespace aqua::pipeline;

Answer reference_answer(const std::vector<std::uint32_t>& prompt, std::uint64_t seed,
                        std::uint32_t tokens) {
  const ModelShape model{.layers = 2, .kv_heads = 2, .query_heads = 4, .head_bytes = 16};
  const Part whole = part_of(model, {1, 1}, 0, 0);
  const auto most = static_cast<std::uint32_t>(prompt.size()) + tokens;
  const std::size_t token_bytes = std::size_t{model.kv_heads} * model.head_bytes;
  std::vector<std::vector<std::byte>> planes(std::size_t{2} * model.layers,
                                             std::vector<std::byte>(token_bytes * most));
  const std::vector<std::uint32_t> one_block{0};
  const auto layer_of = [&](unsigned layer) {
    return KvPlanes{.keys = planes[2 * layer].data(),
                    .values = planes[2 * layer + 1].data(),
                    .token_stride = token_bytes,
                    .head_stride = model.head_bytes,
                    .tokens_per_block = most,
                    .blocks = one_block};
  };
  std::vector<std::uint32_t> known = prompt;
  Answer answer{.finish = "length", .done = true};
  for (std::uint32_t position = 0; answer.ids.size() < tokens; ++position) {
    Hidden hidden = embed(known[position]);
    for (unsigned layer = 0; layer < model.layers; ++layer) {
      write_kv(model, whole, layer, layer_of(layer), position, hidden);
      hidden = finish_layer(layer, hidden,
                            attend(model, whole, layer, layer_of(layer), position, hidden));
    }
    if (position + 1 < known.size()) continue;
    known.push_back(sample(hidden, seed, position));
    answer.ids.push_back(known.back());
    answer.text += " " + std::to_string(known.back());
  }
  return answer;
}

}  // namespace aqua::fleet::test
