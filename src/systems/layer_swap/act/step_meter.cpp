// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/act/step_meter.hpp"

#include <algorithm>
#include <utility>

#include "base/try.hpp"

// Marks are made once and used again. Spans of one step never overlap, but for the step's own.
namespace aqua::layer_swap {

std::optional<StreamMark> StepMeter::mark(Stream stream) {
  if (unused_.empty()) {
    auto made = StreamMark::create(runtime_);
    if (!made.ok()) return std::nullopt;
    unused_.push_back(std::move(*made));
  }
  if (!unused_.back().set(stream).ok()) return std::nullopt;
  std::optional<StreamMark> set(std::move(unused_.back()));
  unused_.pop_back();
  return set;
}

void StepMeter::begin(Stream engine, bool resizing) {
  drop();
  now_ = Record{};
  now_->measure.resizing = resizing;
  step_begin_ = mark(engine);
  now_->whole = step_begin_.has_value();
}

void StepMeter::start(Span span, Stream stream) {
  if (!now_) return;
  span_ = span;
  span_begin_ = mark(stream);
  if (!span_begin_) now_->whole = false;
}

void StepMeter::stop(Stream stream) {
  if (!now_ || !span_begin_) return;
  auto end = mark(stream);
  now_->whole = now_->whole && end;
  if (end) {
    now_->timed.push_back({span_, std::move(*span_begin_), std::move(*end)});
  } else {
    unused_.push_back(std::move(*span_begin_));
  }
  span_begin_.reset();
}

void StepMeter::fetched(std::uint64_t blocks) {
  if (now_) now_->measure.fetched_blocks += blocks;
}

void StepMeter::end(Stream engine, std::uint32_t used, std::uint32_t wanted) {
  if (!now_) return;
  span_ = Span::step;
  std::swap(span_begin_, step_begin_);
  stop(engine);
  now_->measure.blocks_used = used;
  now_->measure.blocks_wanted = wanted;
  if (!now_->whole) return drop();
  ended_.push_back(std::move(*now_));
  now_.reset();
  if (ended_.size() <= kMostKept) return;
  give_back(ended_.front().timed);
  ended_.pop_front();
}

void StepMeter::give_back(std::vector<Timed>& timed) {
  for (Timed& each : timed) {
    unused_.push_back(std::move(each.begin));
    unused_.push_back(std::move(each.end));
  }
  timed.clear();
}

void StepMeter::drop() {
  for (auto* const begun : {&step_begin_, &span_begin_}) {
    if (*begun) unused_.push_back(std::move(**begun));
    begun->reset();
  }
  if (now_) give_back(now_->timed);
  now_.reset();
}

void StepMeter::clear() {
  drop();
  for (Record& record : ended_) give_back(record.timed);
  ended_.clear();
}

Result<StepMeasure> StepMeter::measured(const Record& record) {
  StepMeasure measure = record.measure;
  double whole = 0;
  for (const Timed& timed : record.timed) {
    AQUA_ASSIGN(const auto took, timed.end.since(timed.begin));
    const double seconds = std::max(0.0, std::chrono::duration<double>(took).count());
    switch (timed.span) {
      case Span::step:
        whole += seconds;
        break;
      case Span::stall:
        measure.stall_seconds += seconds;
        break;
      case Span::fetch:
        measure.fetch_seconds += seconds;
        break;
      case Span::write:
        measure.write_seconds += seconds;
        break;
    }
  }
  measure.compute_seconds = std::max(0.0, whole - measure.stall_seconds);
  return measure;
}

std::optional<StepMeasure> StepMeter::next() {
  while (!ended_.empty()) {
    auto measure = measured(ended_.front());
    if (!measure.ok() && measure.error().code == Code::unavailable) return std::nullopt;
    give_back(ended_.front().timed);
    ended_.pop_front();
    if (measure.ok()) return *measure;
  }
  return std::nullopt;
}

}  // namespace aqua::layer_swap
