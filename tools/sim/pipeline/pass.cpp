// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pipeline/pass.hpp"

#include <algorithm>
#include <cassert>

namespace aqua::sim {

std::vector<StageLayers> stages_of(std::uint32_t layers, std::uint32_t depth) {
  assert(depth > 0 && depth <= layers);
  std::vector<StageLayers> stages;
  std::uint32_t first = 0;
  for (std::uint32_t stage = 0; stage < depth; ++stage) {
    const std::uint32_t count = layers / depth + (stage < layers % depth ? 1 : 0);
    stages.push_back({.first = first, .count = count, .of = layers});
    first += count;
  }
  return stages;
}

GivenCost::GivenCost(std::vector<kv_stream::MicrobatchCost> microbatches)
    : microbatches_(std::move(microbatches)) {
  assert(!microbatches_.empty());
  std::ranges::sort(microbatches_, {}, &kv_stream::MicrobatchCost::requests);
}

double GivenCost::at(std::uint32_t requests, double kv_stream::MicrobatchCost::*time) const {
  if (requests == 0) return 0;
  const auto above =
      std::ranges::lower_bound(microbatches_, requests, {}, &kv_stream::MicrobatchCost::requests);
  if (above != microbatches_.end() && above->requests == requests) return (*above).*time;
  if (above == microbatches_.begin() || above == microbatches_.end()) {
    const auto& near = above == microbatches_.end() ? microbatches_.back() : *above;
    return near.*time * requests / near.requests;
  }
  const auto& below = *std::prev(above);
  const double part =
      static_cast<double>(requests - below.requests) / (above->requests - below.requests);
  return below.*time + ((*above).*time - below.*time) * part;
}

Picos GivenCost::stage_time(const Pass& pass, const StageLayers& stage) const {
  using kv_stream::MicrobatchCost;
  const double all = at(pass.prompts, &MicrobatchCost::prompt_seconds) +
                     at(pass.decodes, &MicrobatchCost::token_seconds);
  return picos(all * stage.count / stage.of);
}

Picos ModelledCost::stage_time(const Pass& pass, const StageLayers& stage) const {
  const std::uint64_t most = cost_.max_batch_tokens();
  const std::uint64_t tokens = pass.prompt_tokens + pass.decodes;
  Picos linear = cost_.linear(static_cast<std::uint32_t>(most), stage.count, stage.embeds()) *
                 static_cast<Picos>(tokens / most);
  if (tokens % most > 0) {
    linear += cost_.linear(static_cast<std::uint32_t>(tokens % most), stage.count, stage.embeds());
  }
  const Picos attention = pass.prompt_attention +
                          cost_.decode_attention_per_token() * static_cast<Picos>(pass.kv_tokens);
  return linear + attention * stage.count / stage.of +
         (stage.heads() ? cost_.head(pass.first_tokens + pass.decodes) : 0);
}

}  // namespace aqua::sim
