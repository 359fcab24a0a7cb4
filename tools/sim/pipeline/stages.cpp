// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pipeline/stages.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace aqua::sim {
namespace {

constexpr double kTokenIdBytes = 4;

std::uint32_t layers_in_both(const StageLayers& a, const StageLayers& b) {
  const std::uint32_t first = std::max(a.first, b.first);
  const std::uint32_t end = std::min(a.first + a.count, b.first + b.count);
  return end > first ? end - first : 0;
}

// Among `kinds`, one of each, to which it is added if there is none like it.
std::size_t kind_of(const StageLayers& layers, std::vector<StageLayers>& kinds) {
  const auto alike = std::ranges::find_if(kinds, [&](const StageLayers& other) {
    return other.count == layers.count && other.embeds() == layers.embeds() &&
           other.heads() == layers.heads();
  });
  if (alike != kinds.end()) return static_cast<std::size_t>(alike - kinds.begin());
  kinds.push_back(layers);
  return kinds.size() - 1;
}

}  // namespace

Stages::Stages(const PipelineShape& shape, const PassCost& cost, Network& network, StagesUser& user)
    : shape_(shape), cost_(cost), network_(network), user_(user) {
  for (const bool prompts : {true, false}) {
    const PipelineSide& side = prompts ? shape.prompt : shape.token;
    for (std::uint32_t i = 0; i < side.pipelines; ++i) {
      const auto number = static_cast<std::uint32_t>(pipelines_.size());
      Pipeline pipeline{.prompts = prompts,
                        .first_machine = static_cast<std::uint32_t>(machines_.size())};
      std::vector<StageLayers> kinds;
      for (const StageLayers& layers : stages_of(shape.layers, side.depth)) {
        const auto stage = static_cast<std::uint32_t>(pipeline.stages.size());
        pipeline.stages.push_back({.layers = layers, .kind = kind_of(layers, kinds)});
        if (shape.swaps && !prompts)
          pipeline.stages.back().swap = SwapBuffers(kv_stream::swap_buffers(side.depth));
        machines_.push_back({.pipeline = number, .stage = stage, .prompts = prompts});
        if (!shape.links) continue;
        const std::string name = "machine " + std::to_string(machines_.size());
        out_.push_back(network.add_link(name + " out", shape.links->bytes_per_second));
        in_.push_back(network.add_link(name + " in", shape.links->bytes_per_second));
      }
      pipelines_.push_back(std::move(pipeline));
    }
  }
}

Picos Stages::time_of(const Pipeline& pipeline, const Stage& stage, const Work& work) {
  Picos& time = progress_[work.slot].times[stage.kind];
  if (time != kNever) return time;
  time = cost_.stage_time(work.pass, stage.layers);
  if (!pipeline.prompts || shape_.stream_overhead == 1) return time;
  time = static_cast<Picos>(std::llround(static_cast<double>(time) * shape_.stream_overhead));
  return time;
}

std::pair<Picos, Picos> Stages::compute(const Pipeline& pipeline, Stage& stage, const Work& work,
                                        Picos now) {
  const Picos takes = time_of(pipeline, stage, work);
  if (!stage.swap.swaps()) return {now, now + takes};
  const kv_stream::AwayMemory& memory = shape_.swaps->memory;
  const double rate = work.lent ? memory.lent_bytes_per_second : memory.host_bytes_per_second;
  const auto copy = [&](std::uint64_t tokens) {
    const double bytes = static_cast<double>(tokens * stage.layers.count) *
                         static_cast<double>(shape_.layer_kv_bytes);
    return std::pair(picos(bytes / rate), bytes);
  };
  const auto [in, in_bytes] = copy(work.pass.held_tokens);
  const auto [out, out_bytes] = copy(work.pass.prompt_tokens + work.pass.decodes);
  const Picos there = stage.swap.ready(work.microbatch, work.known, in);
  const Picos begins = std::max(now, there);
  stage.swap.computed(begins + takes, out);
  swapped_bytes_ += out_bytes + (there > 0 ? in_bytes : 0);
  return {begins, begins + takes};
}

void Stages::schedule(Picos at, std::uint32_t pipeline, std::uint32_t stage, std::uint32_t slot,
                      bool frees) {
  events_.push({.at = at,
                .pipeline = pipeline,
                .stage = stage,
                .number = numbers_++,
                .slot = slot,
                .frees = frees,
                .aborts = pipelines_[pipeline].aborts});
}

void Stages::note(const Work& work, std::uint32_t stage, Picos begin, Picos end) {
  machines_[pipelines_[work.pipeline].first_machine + stage].busy += end - begin;
  if (!shape_.timeline) return;
  spans_.push_back({.pipeline = work.pipeline,
                    .stage = stage,
                    .microbatch = work.microbatch,
                    .begin = begin,
                    .end = end,
                    .prompts = work.pass.prompts,
                    .decodes = work.pass.decodes});
}

void Stages::hold(std::uint32_t machine, Stage& stage, std::uint64_t tokens) {
  stage.held_tokens += tokens;
  const std::uint64_t kv = stage.held_tokens * shape_.layer_kv_bytes;
  MachineUse& use = machines_[machine];
  use.peak_bytes =
      std::max(use.peak_bytes,
               shape_.reserved_bytes + stage.layers.count * (shape_.layer_weight_bytes + kv));
}

void Stages::begin(const Work& work, Picos now) {
  if (work.slot >= progress_.size()) progress_.resize(work.slot + 1);
  progress_[work.slot] = {.work = work};
  ++passes_;
  Pipeline& pipeline = pipelines_[work.pipeline];
  ++pipeline.under_way;
  if (pipeline.prompts) {
    streamed_bytes_ += static_cast<double>(work.pass.prompt_tokens * shape_.layers) *
                       static_cast<double>(shape_.layer_kv_bytes);
  }
  if (at_once()) return play_at_once(work, now);
  pipeline.stages.front().waiting.push_back(work.slot);
  try_stage(work.pipeline, 0, now);
}

bool Stages::done() const {
  return std::ranges::all_of(pipelines_, [](const Pipeline& each) { return each.under_way == 0; });
}

void Stages::abort(std::uint32_t number, Picos now) {
  Pipeline& pipeline = pipelines_[number];
  ++pipeline.aborts;
  pipeline.under_way = 0;
  for (std::uint32_t i = 0; i < pipeline.stages.size(); ++i) {
    Stage& stage = pipeline.stages[i];
    stage.waiting.clear();
    stage.coming.clear();
    if (stage.busy) machines_[pipeline.first_machine + i].busy -= stage.busy_until - now;
    stage.busy = false;
  }
  for (StageSpan& span : spans_) {
    if (span.pipeline == number) span.end = std::min(span.end, now);
  }
}

bool Stages::idle(std::uint32_t pipeline) const {
  const Stage& stage = pipelines_[pipeline].stages.front();
  return !stage.busy && stage.waiting.empty() && stage.streams <= shape_.streaming_buffers;
}

// Passes enter in order and stages serve in order, so nothing that begins later changes this.
void Stages::play_at_once(const Work& work, Picos now) {
  Pipeline& pipeline = pipelines_[work.pipeline];
  Picos at = now;
  for (std::uint32_t i = 0; i < pipeline.stages.size(); ++i) {
    Stage& stage = pipeline.stages[i];
    const auto [begins, ends] = compute(pipeline, stage, work, std::max(at, stage.free_at));
    at = stage.free_at = ends;
    note(work, i, begins, ends);
    if (!pipeline.prompts) continue;
    hold(pipeline.first_machine + i, stage, work.pass.prompt_tokens);
    stage.held_tokens = 0;
  }
  const auto last = static_cast<std::uint32_t>(pipeline.stages.size() - 1);
  schedule(at, work.pipeline, last, work.slot, false);
  if (pipeline.prompts) {
    pipeline.stages.front().busy = true;
    if (last > 0) schedule(pipeline.stages.front().free_at, work.pipeline, 0, work.slot, true);
  }
}

void Stages::act(Picos now, Picos /*horizon*/) {
  while (!events_.empty() && events_.top().at <= now) {
    const Event event = events_.top();
    events_.pop();
    if (event.aborts != pipelines_[event.pipeline].aborts) continue;
    if (!at_once()) {
      stage_ended(event.pipeline, event.stage, event.slot, now);
      continue;
    }
    if (event.stage == 0) pipelines_[event.pipeline].stages.front().busy = false;
    if (!event.frees) leave(event.slot, now);
    const bool prompts = pipelines_[event.pipeline].prompts;
    if (prompts && event.stage == 0 && idle(event.pipeline)) user_.idle(event.pipeline, now);
  }
}

void Stages::try_stage(std::uint32_t number, std::uint32_t at, Picos now) {
  Pipeline& pipeline = pipelines_[number];
  Stage& stage = pipeline.stages[at];
  if (stage.busy || stage.waiting.empty() || stage.streams > shape_.streaming_buffers) return;
  const std::uint32_t slot = stage.waiting.front();
  stage.waiting.pop_front();
  stage.busy = true;
  Progress& progress = progress_[slot];
  const Pass& pass = progress.work.pass;
  const auto [begin, end] = compute(pipeline, stage, progress.work, now);
  stage.busy_until = end;
  note(progress.work, at, begin, end);
  if (pipeline.prompts) {
    hold(pipeline.first_machine + at, stage, pass.prompt_tokens);
    if (shape_.links) stream_kv(progress, at, now);
  }
  schedule(end, number, at, slot, false);
}

// The KV leaves layer by layer while it is computed, and needs no less time than that.
void Stages::stream_kv(Progress& progress, std::uint32_t at, Picos now) {
  const Work& work = progress.work;
  const Pipeline& from = pipelines_[work.pipeline];
  const Pipeline& to = pipelines_[work.target];
  progress.flows.resize(from.stages.size());
  for (std::uint32_t i = 0; i < to.stages.size(); ++i) {
    const std::uint32_t layers = layers_in_both(from.stages[at].layers, to.stages[i].layers);
    if (layers == 0) continue;
    const double bytes = static_cast<double>(layers * shape_.layer_kv_bytes) *
                         static_cast<double>(work.pass.prompt_tokens);
    ++progress.flows[at];
    start_flow(bytes, from.first_machine + at, to.first_machine + i,
               {.slot = work.slot, .stage = at, .kv = true}, now);
  }
  ++progress.streams;
  ++pipelines_[work.pipeline].stages[at].streams;
}

void Stages::start_flow(double bytes, std::uint32_t from, std::uint32_t to, Flow flow, Picos now) {
  const FlowId id = network_.start(
      {.bytes = bytes, .delay = shape_.links->latency, .links = {out_[from], in_[to]}}, now, this);
  flow.pipeline = progress_[flow.slot].work.pipeline;
  flow.aborts = pipelines_[flow.pipeline].aborts;
  flows_[id] = flow;
}

void Stages::stage_ended(std::uint32_t number, std::uint32_t at, std::uint32_t slot, Picos now) {
  Pipeline& pipeline = pipelines_[number];
  Stage& stage = pipeline.stages[at];
  stage.busy = false;
  if (pipeline.prompts && !shape_.links) {
    stage.held_tokens -= progress_[slot].work.pass.prompt_tokens;
  }
  hand_on(slot, at, now);
  try_stage(number, at, now);
  if (pipeline.prompts && at == 0 && idle(number)) user_.idle(number, now);
}

// To the next stage, or tokens to the first one. `at` has computed it.
void Stages::hand_on(std::uint32_t slot, std::uint32_t at, Picos now) {
  const Work& work = progress_[slot].work;
  const Pipeline& pipeline = pipelines_[work.pipeline];
  const auto depth = static_cast<std::uint32_t>(pipeline.stages.size());
  const bool last = at + 1 == depth;
  if (!shape_.links || (last && (pipeline.prompts || depth == 1))) {
    if (last) return leave(slot, now);
    pipelines_[work.pipeline].stages[at + 1].waiting.push_back(slot);
    return try_stage(work.pipeline, at + 1, now);
  }
  const double tokens = last ? work.pass.decodes + work.pass.first_tokens
                             : static_cast<double>(work.pass.decodes + work.pass.prompt_tokens);
  const double bytes = tokens * (last ? kTokenIdBytes : shape_.links->activation_bytes);
  activation_bytes_ += bytes;
  const std::uint32_t to = last ? 0 : at + 1;
  if (!last) pipelines_[work.pipeline].stages[to].coming.emplace_back(slot, false);
  start_flow(bytes, pipeline.first_machine + at, pipeline.first_machine + to,
             {.slot = slot, .stage = to}, now);
}

void Stages::flow_ended(FlowId id, Picos now) {
  const Flow flow = flows_.at(id);
  flows_.erase(id);
  const std::uint32_t number = flow.pipeline;
  if (flow.aborts != pipelines_[number].aborts) return;
  Progress& progress = progress_[flow.slot];
  if (!flow.kv) {
    if (flow.stage == 0) return leave(flow.slot, now);
    return arrive(number, flow.stage, flow.slot, now);
  }
  if (--progress.flows[flow.stage] > 0) return;
  Stage& stage = pipelines_[number].stages[flow.stage];
  --progress.streams;
  --stage.streams;
  stage.held_tokens -= progress.work.pass.prompt_tokens;
  maybe_deliver(flow.slot, now);
  try_stage(number, flow.stage, now);
  if (flow.stage == 0 && idle(number)) user_.idle(number, now);
}

// What two stages send each other stays in order: a few tokens do not overtake a prompt that is
// still on its way.
void Stages::arrive(std::uint32_t number, std::uint32_t at, std::uint32_t slot, Picos now) {
  Stage& stage = pipelines_[number].stages[at];
  std::ranges::find(stage.coming, std::pair(slot, false))->second = true;
  for (; !stage.coming.empty() && stage.coming.front().second; stage.coming.pop_front()) {
    stage.waiting.push_back(stage.coming.front().first);
  }
  try_stage(number, at, now);
}

void Stages::leave(std::uint32_t slot, Picos now) {
  progress_[slot].out = true;
  const Work work = progress_[slot].work;
  if (!pipelines_[work.pipeline].prompts) {
    --pipelines_[work.pipeline].under_way;
    return user_.passed(work, now);
  }
  user_.passed(work, now);
  maybe_deliver(slot, now);
}

void Stages::maybe_deliver(std::uint32_t slot, Picos now) {
  const Progress& progress = progress_[slot];
  if (!progress.out || progress.streams > 0) return;
  const Work work = progress.work;
  --pipelines_[work.pipeline].under_way;
  user_.delivered(work, now);
}

}  // namespace aqua::sim
