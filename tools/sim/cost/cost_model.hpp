// SPDX-License-Identifier: Apache-2.0
// How long an iteration computes: linear parts from measured layer times where there are any,
// attention, head and all-reduce from the roofline. Tables of whole picoseconds, so that an
// iteration's cost is a few additions and many iterations' cost is exact.
//
//   compute = linear[tokens in the batch] + head[sequences that get a token]
//             + decode attention: picoseconds per KV token in the decoding sequences
//             + prefill attention of each chunk
//             + each token of the batch with each of its KV tokens, in whole steps, where that was
//               fitted: of an engine with one cache for all sequences
//
// Threads: immutable after build(); share it freely.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "tools/sim/cost/cost_fit.hpp"
#include "tools/sim/cost/link_fit.hpp"
#include "tools/sim/cost/roofline.hpp"
#include "tools/sim/engine/time.hpp"
#include "tools/sim/input/spec.hpp"

namespace aqua::sim {

// Where a figure comes from: measured, scaled (from a measurement of something else, or by the
// roofline), quoted (from the paper or a data sheet), assumed.
struct Source {
  std::string what;
  std::string label;
  std::string from;
};

struct CostOptions {
  // Has compute/ and network/; empty: the roofline alone.
  std::filesystem::path profiles{};
  unsigned tensor_parallel = 1;
  std::uint32_t max_batch_tokens = 512;  // the chunk: no iteration has more
};

class CostModel {
 public:
  // not_found when a profile that the model names is not in the directory; otherwise as the
  // readers of the profiles say.
  [[nodiscard]] static Result<CostModel> build(const ModelSpec& model, const ServerSpec& server,
                                               const CostOptions& options);
  // As fitted to a recording of an engine. No model, no roofline: only what is asked below counts.
  [[nodiscard]] static CostModel fitted(const CostFit& fit, std::uint32_t max_batch_tokens);

  // 1 to max_batch_tokens.
  [[nodiscard]] Picos linear(std::uint32_t tokens) const { return linear_[tokens]; }
  // The same of `layers` of them only, with or without the embedding: a stage of a pipeline. Not of
  // a fitted model, which knows no layers.
  [[nodiscard]] Picos linear(std::uint32_t tokens, std::uint32_t layers, bool embeds) const {
    return picos(layers * layer_s_[tokens] + (embeds ? embedding_s_[tokens] : 0));
  }
  // 0 to max_batch_tokens.
  [[nodiscard]] Picos head(std::uint32_t rows) const { return head_[rows]; }
  [[nodiscard]] Picos decode_attention_per_token() const noexcept { return decode_per_token_; }
  // The time of every token computed with every KV token of the batch, the last step of them whole.
  [[nodiscard]] Picos any_pairs(std::uint64_t tokens, std::uint64_t kv_tokens) const noexcept {
    const std::uint64_t steps = (kv_tokens + kv_step_ - 1) / kv_step_;
    return per_any_pair_ * static_cast<Picos>(tokens * steps * kv_step_);
  }
  [[nodiscard]] Picos prefill_attention(std::uint32_t tokens, std::uint64_t past) const;

  // A single prompt by itself: its chunks one after another, then `output` - 1 decodes.
  [[nodiscard]] Picos prompt_alone(std::uint32_t prompt, std::uint32_t output) const;

  [[nodiscard]] const std::vector<Source>& sources() const noexcept { return sources_; }
  [[nodiscard]] const Roof& roof() const noexcept { return roof_; }
  [[nodiscard]] std::uint32_t max_batch_tokens() const {
    return static_cast<std::uint32_t>(linear_.size() - 1);
  }

 private:
  ModelSpec model_;
  unsigned tensor_parallel_ = 1;
  Roof roof_;
  std::vector<Picos> linear_;
  std::vector<Picos> head_;
  std::vector<double> layer_s_, embedding_s_;  // linear_ of one layer, and the rest of it
  Picos decode_per_token_ = 0;
  Picos per_any_pair_ = 0;
  std::uint32_t kv_step_ = 1;
  std::optional<double> per_pair_s_{};  // of prefill attention; without it the roofline says
  std::vector<Source> sources_;
};

// The link with what was fitted to network/<fit>, or as it is where there is nothing to fit.
// Adds where its figures come from.
[[nodiscard]] Result<LinkSpec> resolve_link(const LinkSpec& link, const std::string& name,
                                            const std::filesystem::path& profiles,
                                            std::vector<Source>& sources);

}  // namespace aqua::sim
