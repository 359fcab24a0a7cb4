// SPDX-License-Identifier: Apache-2.0
// The stages of all pipelines in time: each computes one pass after another, first come, first
// served, and hands it on. Prompt pipelines send the KV of what they compute to a token pipeline
// meanwhile.
//
// With links, activations and KV are flows on the network. Without, nothing takes time between
// stages, and a pass goes through all of them in one event (PipelineShape::skip).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/sim/engine/actor.hpp"
#include "tools/sim/pipeline/outcome.hpp"
#include "tools/sim/pipeline/pass.hpp"
#include "tools/sim/pipeline/shape.hpp"
#include "tools/sim/pipeline/swap_buffers.hpp"

namespace aqua::sim {

// A pass under way. `slot` tells those that are under way apart.
struct Work {
  std::uint32_t pipeline = 0, slot = 0;
  std::uint64_t microbatch = 0;  // for the timeline
  std::uint32_t target = 0;      // of a prompt pipeline: the token pipeline that gets the KV
  bool lent = false;             // Microbatch::lent
  Picos known = 0;               // Microbatch::known
  Pass pass{};
};

// Who is told of what happens in the stages. Calls may begin() passes.
class StagesUser {
 public:
  virtual ~StagesUser() = default;
  // The pass has left the last stage, and the first knows its tokens.
  virtual void passed(const Work& work, Picos now) = 0;
  // The KV of a prompt has left every stage; after passed().
  virtual void delivered(const Work& work, Picos now) = 0;
  // The first stage of a prompt pipeline has nothing to do.
  virtual void idle(std::uint32_t pipeline, Picos now) = 0;
};

class Stages final : public Actor {
 public:
  // All but the shape must outlive it. Prompt pipelines come first.
  Stages(const PipelineShape& shape, const PassCost& cost, Network& network, StagesUser& user);

  // Lets a pass enter its pipeline's first stage.
  void begin(const Work& work, Picos now);
  // All its passes are lost.
  void abort(std::uint32_t pipeline, Picos now);
  // Whether the first stage would begin with it at once.
  [[nodiscard]] bool idle(std::uint32_t pipeline) const;

  [[nodiscard]] Picos next() const override { return events_.empty() ? kNever : events_.top().at; }
  void act(Picos now, Picos horizon) override;
  void flow_ended(FlowId flow, Picos now) override;
  [[nodiscard]] bool done() const override;

  // The use of one machine each, pipeline by pipeline, stage by stage. Bytes are what prompt stages
  // hold.
  [[nodiscard]] std::vector<MachineUse>& machines() noexcept { return machines_; }
  [[nodiscard]] std::vector<StageSpan>& spans() noexcept { return spans_; }
  [[nodiscard]] double activation_bytes() const noexcept { return activation_bytes_; }
  [[nodiscard]] double streamed_bytes() const noexcept { return streamed_bytes_; }
  // In and out of devices, of microbatches that are swapped.
  [[nodiscard]] double swapped_bytes() const noexcept { return swapped_bytes_; }
  [[nodiscard]] std::uint64_t passes() const noexcept { return passes_; }

 private:
  static constexpr std::size_t kKinds = 4;  // first, last, and two sizes between them
  struct Stage {
    StageLayers layers{};
    std::size_t kind = 0;  // stages of a pipeline that are alike, a pass costs the same
    SwapBuffers swap{};
    std::deque<std::uint32_t> waiting{};  // slots
    // Passes on their way from the stage before, in its order, and whether they are here.
    std::deque<std::pair<std::uint32_t, bool>> coming{};
    bool busy = false;
    Picos busy_until = 0;
    Picos free_at = 0;              // when passes are played in one event
    std::uint32_t streams = 0;      // prompts whose KV leaves it
    std::uint64_t held_tokens = 0;  // of prompts that it computes, and of those streams
  };
  struct Pipeline {
    bool prompts = false;
    std::uint32_t first_machine = 0;
    std::uint32_t aborts = 0;     // events and flows from before the last are of nothing
    std::uint64_t under_way = 0;  // passes
    std::vector<Stage> stages{};
  };
  struct Progress {
    Work work{};
    std::array<Picos, kKinds> times{kNever, kNever, kNever, kNever};  // by Stage::kind, once known
    bool out = false;                                                 // has left the last stage
    std::vector<std::uint32_t> flows{};                               // of KV, under way, by stage
    std::uint32_t streams = 0;                                        // stages that they leave
  };
  struct Event {
    Picos at = 0;
    std::uint32_t pipeline = 0, stage = 0;
    std::uint64_t number = 0;  // of equal ones the older first
    std::uint32_t slot = 0;
    bool frees = false;  // the first stage only; the pass itself is further on
    std::uint32_t aborts = 0;
    [[nodiscard]] auto key() const noexcept { return std::tie(at, pipeline, stage, number); }
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const noexcept { return a.key() > b.key(); }
  };
  struct Flow {
    std::uint32_t slot = 0, stage = 0;  // where it goes, or, of KV, where it comes from
    bool kv = false;
    std::uint32_t pipeline = 0, aborts = 0;  // when it began
  };

  [[nodiscard]] bool at_once() const noexcept {
    return !shape_.links && !shape_.may_fail() && shape_.skip;
  }
  [[nodiscard]] Picos time_of(const Pipeline& pipeline, const Stage& stage, const Work& work);
  // When the stage computes the pass that is its next, which is no sooner than `now`.
  [[nodiscard]] std::pair<Picos, Picos> compute(const Pipeline& pipeline, Stage& stage,
                                                const Work& work, Picos now);
  void schedule(Picos at, std::uint32_t pipeline, std::uint32_t stage, std::uint32_t slot,
                bool frees);
  void play_at_once(const Work& work, Picos now);
  void try_stage(std::uint32_t pipeline, std::uint32_t stage, Picos now);
  void stage_ended(std::uint32_t pipeline, std::uint32_t stage, std::uint32_t slot, Picos now);
  void stream_kv(Progress& progress, std::uint32_t stage, Picos now);
  void hand_on(std::uint32_t slot, std::uint32_t stage, Picos now);
  void arrive(std::uint32_t pipeline, std::uint32_t stage, std::uint32_t slot, Picos now);
  void leave(std::uint32_t slot, Picos now);
  void maybe_deliver(std::uint32_t slot, Picos now);
  void note(const Work& work, std::uint32_t stage, Picos begin, Picos end);
  void hold(std::uint32_t machine, Stage& stage, std::uint64_t tokens);
  void start_flow(double bytes, std::uint32_t from, std::uint32_t to, Flow flow, Picos now);

  const PipelineShape shape_;
  const PassCost& cost_;
  Network& network_;
  StagesUser& user_;
  std::vector<Pipeline> pipelines_{};
  std::vector<MachineUse> machines_{};
  std::vector<LinkId> out_{}, in_{};  // of a machine
  std::vector<Progress> progress_{};  // by slot
  std::map<FlowId, Flow> flows_{};
  std::priority_queue<Event, std::vector<Event>, Later> events_{};
  std::vector<StageSpan> spans_{};
  std::uint64_t numbers_ = 0, passes_ = 0;
  double activation_bytes_ = 0, streamed_bytes_ = 0, swapped_bytes_ = 0;
};

}  // namespace aqua::sim
