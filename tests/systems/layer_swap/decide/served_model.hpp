// SPDX-License-Identifier: Apache-2.0
// ServedModel is a serving engine of a few formulas, on which an Expansion is tried: sequences come
// in until blocks run out, a layer takes as long as its weights, its sequences and their KV take,
// and a StepTimer says how long the layers wait for the link.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <random>

#include "systems/layer_swap/decide/expansion.hpp"
#include "systems/layer_swap/decide/step_timer.hpp"

namespace aqua::layer_swap::test {

// Times are of one layer.
struct Shape {
  const char* name = "";
  std::uint32_t layers = 48;
  std::uint32_t blocks = 1000;    // with every layer on the device
  std::uint32_t demand = 1000;    // sequences that want to run
  std::uint32_t seq_blocks = 10;  // of one, always
  double weights = 1;             // to read them; sequences below that time compute for nothing
  double a_sequence = 0.001;      // to compute it
  double a_block = 0.0002;        // to read its KV
  double a_prompt = 0;            // to compute one that comes in
  double fetch_block = 0.001;
  double noise = 0.02;             // times vary by so much
  std::uint32_t admits = 2;        // sequences that come in at a step
  std::uint32_t resize_steps = 3;  // until a change is there
  std::uint32_t seed = 5;
  friend void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }
};

class ServedModel {
 public:
  ServedModel(const Shape& shape, Goal goal) : shape_(shape), goal_(goal), random_(shape.seed) {
    set_frames(shape.layers);
  }

  // Serves a step, and measures it.
  StepMeasure step() {
    if (resize_in_ > 0 && --resize_in_ == 0) set_frames(wanted_frames_);
    const std::uint32_t room = usable() / shape_.seq_blocks;
    const std::uint32_t before = std::min({running, shape_.demand, room});
    running = std::min({running + shape_.admits, shape_.demand, room});
    if (running == room) filled = true;
    const double used = running * shape_.seq_blocks;
    const double layer = (std::max(shape_.weights, shape_.a_sequence * running) +
                          shape_.a_block * used + shape_.a_prompt * (running - before)) *
                         vary();
    const double fetch = shape_.fetch_block * used * link_slowness * vary();
    const StepTiming timing = *timer_->step(
        {.compute = layer, .fetch = fetch, .whole_out = fetch, .write_back = fetch * 0.02});
    tokens += running;
    seconds += timing.seconds;
    StepMeasure m;
    m.compute_seconds = timing.seconds - timing.stalled;
    m.stall_seconds = timing.stalled;
    m.fetch_seconds = timing.fetching;
    m.write_seconds = timing.writing;
    m.fetched_blocks = timing.fetched * std::uint64_t{running * shape_.seq_blocks};
    m.blocks_used = running * shape_.seq_blocks;
    m.blocks_wanted = shape_.demand * shape_.seq_blocks;
    m.resizing = resize_in_ > 0;
    return m;
  }
  // Asks for frames, which are there some steps later.
  void ask(std::uint32_t frames) {
    if (frames == wanted_frames_) return;
    wanted_frames_ = frames;
    resize_in_ = shape_.resize_steps;
  }
  void set_frames(std::uint32_t frames) {
    frames_ = wanted_frames_ = frames;
    timer_.emplace(*make_layer_schedule("fixed", {.layers = shape_.layers, .frames = frames}));
  }
  void set_demand(std::uint32_t sequences) { shape_.demand = sequences; }
  [[nodiscard]] std::uint32_t usable() const {
    return goal_ == Goal::memory ? shape_.blocks : shape_.blocks * shape_.layers / frames_;
  }
  [[nodiscard]] std::uint32_t frames() const { return frames_; }

  std::uint32_t running = 0;
  bool filled = false;  // the pool was full once
  double tokens = 0, seconds = 0;
  double link_slowness = 1;

 private:
  double vary() { return 1 + shape_.noise * (std::uniform_real_distribution<>(-1, 1)(random_)); }
  Shape shape_;
  Goal goal_;
  std::uint32_t frames_ = 0, wanted_frames_ = 0, resize_in_ = 0;
  std::optional<StepTimer> timer_;
  std::mt19937 random_;
};

inline const Shape weights_bound{.name = "weights_bound"};

// A model under an Expansion.
struct Served {
  ServedModel model;
  Expansion expansion;
  explicit Served(const Shape& shape, Goal goal = Goal::capacity)
      : model(shape, goal),
        expansion(*Expansion::create({.goal = goal,
                                      .layers = shape.layers,
                                      .blocks = shape.blocks,
                                      .seconds_per_block = shape.fetch_block})) {}
  // Serves steps under the controller; `each` sees their measures.
  void run(int steps, const std::function<void(const StepMeasure&)>& each = nullptr) {
    for (int i = 0; i < steps; ++i) {
      const StepMeasure m = model.step();
      model.ask(*expansion.step(m));
      if (each) each(m);
    }
  }
  // Tokens a second of the next steps.
  double rate(int steps) {
    const double tokens = model.tokens, seconds = model.seconds;
    run(steps);
    return (model.tokens - tokens) / (model.seconds - seconds);
  }
};

}  // namespace aqua::layer_swap::test
