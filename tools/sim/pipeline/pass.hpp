// SPDX-License-Identifier: Apache-2.0
// What a microbatch has computed in one go through all stages of its pipeline, and what that costs
// each of them.
//
// Threads: plain values; costs are immutable once made.
#pragma once

#include <cstdint>
#include <vector>

#include "aqua/kv_stream/plan.hpp"
#include "tools/sim/cost/cost_model.hpp"
#include "tools/sim/engine/time.hpp"

namespace aqua::sim {

struct Pass {
  std::uint32_t prompts = 0;        // requests whose prompt, or a part of it, is computed
  std::uint64_t prompt_tokens = 0;  // of these
  Picos prompt_attention = 0;       // of these, in all layers
  std::uint32_t first_tokens = 0;   // prompts that are complete with this pass
  std::uint32_t decodes = 0;        // requests that get their next token
  std::uint64_t kv_tokens = 0;      // that the decodes attend to
  std::uint64_t held_tokens = 0;    // of all its requests, that have KV before it
};

// The layers of one stage: the embedding is the first stage's, the output head the last one's.
struct StageLayers {
  std::uint32_t first = 0, count = 0, of = 0;
  [[nodiscard]] bool embeds() const noexcept { return first == 0; }
  [[nodiscard]] bool heads() const noexcept { return first + count == of; }
};
// `layers` in `depth` stages, the larger ones first. `depth` is 1 to `layers`.
[[nodiscard]] std::vector<StageLayers> stages_of(std::uint32_t layers, std::uint32_t depth);

class PassCost {
 public:
  PassCost() = default;
  PassCost(const PassCost&) = delete;
  PassCost& operator=(const PassCost&) = delete;
  virtual ~PassCost() = default;

  // The same for all stages of so many layers that embed and head alike.
  [[nodiscard]] virtual Picos stage_time(const Pass& pass, const StageLayers& stage) const = 0;
  // Pass::prompt_attention of `tokens` of a prompt after `past` of them.
  [[nodiscard]] virtual Picos prompt_attention(std::uint32_t tokens, std::uint64_t past) const = 0;
};

// Y(b) and t(b) as they are given, in proportion to layers; between two sizes a straight line,
// below and above all of them in proportion. A pass with both takes their sum. Whole prompts only.
class GivenCost final : public PassCost {
 public:
  explicit GivenCost(std::vector<kv_stream::MicrobatchCost> microbatches);
  [[nodiscard]] Picos stage_time(const Pass& pass, const StageLayers& stage) const override;
  [[nodiscard]] Picos prompt_attention(std::uint32_t, std::uint64_t) const override { return 0; }

 private:
  [[nodiscard]] double at(std::uint32_t requests, double kv_stream::MicrobatchCost::*time) const;
  std::vector<kv_stream::MicrobatchCost> microbatches_;  // by requests
};

// By a cost model, which must outlive it. More tokens than its largest batch are computed in
// several batches.
class ModelledCost final : public PassCost {
 public:
  explicit ModelledCost(const CostModel& cost) : cost_(cost) {}
  [[nodiscard]] Picos stage_time(const Pass& pass, const StageLayers& stage) const override;
  [[nodiscard]] Picos prompt_attention(std::uint32_t tokens, std::uint64_t past) const override {
    return cost_.prefill_attention(tokens, past);
  }

 private:
  const CostModel& cost_;
};

}  // namespace aqua::sim
