// SPDX-License-Identifier: Apache-2.0
#include "serve/paged_engine.hpp"

#include <algorithm>

#include "hash.hpp"

namespace aqua::prefill_decode {

std::vector<Prediction> PagedEngine::compute(std::span<const Part> parts) {
  std::vector<Row> rows;
  for (const Part& part : parts) {
    for (std::size_t i = 0; i < part.tokens.size(); ++i) {
      rows.push_back({.token = part.tokens[i],
                      .position = part.first + static_cast<std::uint32_t>(i),
                      .blocks = part.blocks,
                      .wanted = part.wanted && i + 1 == part.tokens.size()});
    }
  }
  std::span<const float> logits = model_.run(rows);
  std::vector<Prediction> next;
  for (; !logits.empty(); logits = logits.subspan(model_.vocabulary())) {
    const auto row = logits.first(model_.vocabulary());
    const auto best = std::max_element(row.begin(), row.end()) - row.begin();
    next.push_back(
        {static_cast<Token>(best), llama_example::hash_bytes(std::as_bytes(std::span(row)))});
  }
  return next;
}

}  // namespace aqua::prefill_decode
