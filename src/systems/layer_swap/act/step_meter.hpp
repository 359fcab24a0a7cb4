// SPDX-License-Identifier: Apache-2.0
// StepMeter times the steps of a pool by marks in its streams: how long layers computed and waited
// for others to come in, and how long the link was busy each way. It waits for nothing. A step
// whose marks could not be set, or whose device fails, is not measured.
//
// Threads: one at a time. Owns: the marks. Must be gone before the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "aqua/runtime.hpp"
#include "aqua/stream_mark.hpp"
#include "systems/layer_swap/decide/step_window.hpp"

namespace aqua::layer_swap {

class StepMeter {
 public:
  // What a stream does between two marks.
  enum class Span : std::uint8_t { step, stall, fetch, write };

  // Steps that are kept until next() asks for them: the last ones.
  static constexpr std::size_t kMostKept = 64;

  explicit StepMeter(Runtime runtime) : runtime_(std::move(runtime)) {}

  // A step begins, on the engine's stream, with what is known of it now. `end` adds the rest.
  void begin(Stream engine, bool resizing);
  void end(Stream engine, std::uint32_t used, std::uint32_t wanted);
  void drop();  // the step that began is none

  // Around work of that kind, within a step; outside they do nothing.
  void start(Span span, Stream stream);
  void stop(Stream stream);
  void fetched(std::uint64_t blocks);

  // The oldest step that has ended and was not answered yet, once all its marks are reached.
  [[nodiscard]] std::optional<StepMeasure> next();
  // Forgets steps that have not been answered.
  void clear();

 private:
  struct Timed {
    Span span;
    StreamMark begin, end;
  };
  struct Record {
    StepMeasure measure{};
    std::vector<Timed> timed{};
    bool whole = true;  // every mark was set
  };
  [[nodiscard]] std::optional<StreamMark> mark(Stream stream);
  void give_back(std::vector<Timed>& timed);
  // unavailable: not all marks are reached.
  [[nodiscard]] static Result<StepMeasure> measured(const Record& record);

  Runtime runtime_;  // a view of the caller's
  std::vector<StreamMark> unused_;
  std::optional<Record> now_;
  std::optional<StreamMark> step_begin_, span_begin_;
  Span span_ = Span::step;
  std::deque<Record> ended_;
};

}  // namespace aqua::layer_swap
