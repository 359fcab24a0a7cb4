// SPDX-License-Identifier: Apache-2.0
// What serve() runs: the requests, the microbatches that they form, and what becomes of these.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/sim/engine/actor.hpp"
#include "tools/sim/pipeline/microbatch.hpp"
#include "tools/sim/pipeline/outage_times.hpp"
#include "tools/sim/pipeline/outcome.hpp"
#include "tools/sim/pipeline/prompt_stores.hpp"
#include "tools/sim/pipeline/serving.hpp"
#include "tools/sim/pipeline/shape.hpp"
#include "tools/sim/pipeline/stages.hpp"

namespace aqua::sim {

class PipelineServer final : public Actor, private StagesUser {
 public:
  PipelineServer(const PipelineShape& shape, const PassCost& cost, Network& network,
                 const std::vector<TraceRequest>& requests, const RunLimit& limit)
      : shape_(shape),
        cost_(cost),
        requests_(requests),
        limit_(limit),
        stages_(shape, cost, network, *this),
        stores_(shape),
        outages_(shape),
        under_way_(shape.prompt.pipelines + shape.token.pipelines),
        reserved_(under_way_.size()),
        peak_(under_way_.size()),
        largest_(under_way_.size()),
        lent_(under_way_.size()),
        down_until_(under_way_.size(), kNever),
        last_outage_(last_outage(shape, cost, requests)) {
    for (const TraceRequest& request : requests) {
      out_.requests.push_back({.arrival = request.arrival,
                               .prompt_tokens = request.prompt_tokens,
                               .output_tokens = request.output_tokens});
    }
  }
  [[nodiscard]] Stages& stages() noexcept { return stages_; }
  [[nodiscard]] PipelineOutcome outcome() &&;
  // Machines failed so often that the run was given up. Says how far it came; "": it was not.
  [[nodiscard]] const std::string& given_up() const noexcept { return given_up_; }

  // As an actor it is the arrival of requests, and outages with their ends.
  [[nodiscard]] Picos next() const override;
  void act(Picos now, Picos horizon) override;
  void flow_ended(FlowId /*flow*/, Picos /*now*/) override {}
  [[nodiscard]] bool done() const override {
    return ended_ == requests_.size() || !given_up_.empty() || stopped_;
  }

 private:
  [[nodiscard]] std::uint32_t prompts() const noexcept { return shape_.prompt.pipelines; }
  [[nodiscard]] std::uint32_t pipelines() const noexcept {
    return prompts() + shape_.token.pipelines;
  }
  [[nodiscard]] std::uint32_t waiting() const noexcept {
    return static_cast<std::uint32_t>(came_ - taken_);
  }
  // The prompt tokens of the next `count` that wait.
  [[nodiscard]] std::uint64_t prompt_tokens_of(std::uint32_t count) const {
    std::uint64_t tokens = 0;
    for (std::uint32_t i = 0; i < count; ++i) tokens += requests_[taken_ + i].prompt_tokens;
    return tokens;
  }

  void feed(Picos now);
  void feed_prompts(std::uint32_t pipeline, Picos now);
  void feed_colocated(std::uint32_t pipeline, Picos now);
  void feed_tokens(std::uint32_t pipeline, Picos now);
  [[nodiscard]] bool may_be_partial(std::uint32_t pipeline) const;
  std::uint32_t open(std::uint32_t pipeline, std::uint32_t target);
  void close(std::uint32_t slot);
  void take_waiting(Microbatch& batch, std::uint32_t count);
  void take_stored(Microbatch& batch, std::uint32_t count);
  void go(std::uint32_t slot, Picos now);
  void leave_memory(Microbatch& batch, bool all);
  [[nodiscard]] bool down(std::uint32_t pipeline) const { return down_until_[pipeline] != kNever; }
  [[nodiscard]] std::vector<std::uint32_t> slots_of(std::uint32_t pipeline) const;
  [[nodiscard]] static Picos last_outage(const PipelineShape& shape, const PassCost& cost,
                                         const std::vector<TraceRequest>& requests);
  [[nodiscard]] Picos recovery_time(const Outage& outage) const;
  void fail(const Outage& outage, Picos now);
  void resume(std::uint32_t pipeline, Picos now);
  void give_up(Picos now);
  void stop(Picos now);

  void passed(const Work& work, Picos now) override;
  void delivered(const Work& work, Picos now) override;
  void idle(std::uint32_t /*pipeline*/, Picos now) override { feed(now); }

  const PipelineShape shape_;
  const PassCost& cost_;
  const std::vector<TraceRequest>& requests_;
  const RunLimit limit_;
  Stages stages_;
  PromptStores stores_;
  OutageTimes outages_;
  std::vector<Microbatch> batches_{};  // by slot
  std::vector<std::uint32_t> free_slots_{};
  std::vector<std::uint32_t> under_way_;        // microbatches, by pipeline
  std::vector<std::uint64_t> reserved_, peak_;  // tokens of KV in a layer, by pipeline
  std::vector<std::uint64_t> largest_;          // of a microbatch
  std::vector<std::uint32_t> lent_;             // microbatches in lent memory, by pipeline
  std::vector<Picos> down_until_;               // kNever: it is up
  const Picos last_outage_;                     // after which the run is given up
  std::string given_up_{};
  std::size_t came_ = 0, taken_ = 0, ended_ = 0;
  std::size_t slow_ = 0;  // of those that have ended: above the limit of latency
  bool stopped_ = false;  // a run that is cut off stops when it is its turn to act
  std::uint64_t numbers_ = 0;
  Picos blocked_since_ = kNever;
  PipelineOutcome out_{};
};

}  // namespace aqua::sim
