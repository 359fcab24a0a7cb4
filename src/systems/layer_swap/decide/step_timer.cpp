// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/decide/step_timer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/concat.hpp"
#include "base/try.hpp"

// Invariant: ends_ has one entry for each move that the schedule has under way, in its order.
namespace aqua::layer_swap {
namespace {

// What moments that differ by rounding only may differ by, in parts of a step.
constexpr double kRounding = 1e-9;

}  // namespace

StepTimer::StepTimer(std::unique_ptr<LayerSchedule> schedule)
    : schedule_(std::move(schedule)), frame_free_(schedule_->frames()) {}

void StepTimer::post(const std::vector<Move>& moves, const StepTimes& times, StepTiming& timing) {
  for (const Move& move : moves) {
    const auto kind = static_cast<std::size_t>(move.kind);
    const double takes = move.kind == MoveKind::in ? times.fetch
                         : move.whole              ? times.whole_out
                                                   : times.write_back;
    const double start = std::max({now_, link_free_[kind], frame_free_[move.frame]});
    link_free_[kind] = frame_free_[move.frame] = start + takes;
    ends_[kind].push_back(start + takes);
    (move.kind == MoveKind::in ? timing.fetching : timing.writing) += takes;
    timing.fetched += move.kind == MoveKind::in ? 1 : 0;
  }
}

void StepTimer::complete_due() {
  for (const MoveKind kind : {MoveKind::in, MoveKind::out}) {
    auto& ends = ends_[static_cast<std::size_t>(kind)];
    while (!ends.empty() && ends.front() <= now_ + slack_) {
      (void)schedule_->completed(kind);
      ends.pop_front();
    }
  }
}

double StepTimer::next_completion() const {
  double next = std::numeric_limits<double>::infinity();
  for (const auto& ends : ends_) {
    if (!ends.empty()) next = std::min(next, ends.front());
  }
  return next;
}

Result<StepTiming> StepTimer::step(const StepTimes& times) {
  for (const double time : {times.compute, times.fetch, times.whole_out, times.write_back}) {
    if (!(time >= 0) || !std::isfinite(time)) {
      return Error{Code::invalid_argument, concat("step: a time of ", time)};
    }
  }
  const double began = now_;
  slack_ = kRounding * (times.compute * schedule_->layers() + times.fetch);
  StepTiming timing;
  for (LayerIndex layer = 0; layer < schedule_->layers(); ++layer) {
    const double reached = now_;
    while (true) {
      complete_due();
      AQUA_ASSIGN(const auto moves, schedule_->reach(layer));
      post(moves, times, timing);
      if (schedule_->state(layer) == LayerState::home) break;
      const double next = next_completion();
      if (!std::isfinite(next)) {
        return Error{Code::internal, concat("step: layer ", layer, " is away and nothing moves")};
      }
      now_ = std::max(now_, next);
    }
    if (now_ - reached > slack_) timing.stalled += now_ - reached;
    now_ += times.compute;
    complete_due();
    AQUA_ASSIGN(const auto moves, schedule_->end(layer));
    post(moves, times, timing);
  }
  timing.seconds = now_ - began;
  return timing;
}

double stalled_share(std::uint32_t layers, std::uint32_t frames, const StepTimes& times) {
  constexpr int kSteps = 4;  // the first begin with the layers at home, or still on their way
  auto schedule = make_layer_schedule("fixed", {.layers = layers, .frames = frames});
  if (!schedule.ok()) return 1;
  StepTimer timer(*std::move(schedule));
  double share = 1;
  for (int step = 0; step < kSteps; ++step) {
    const auto timing = timer.step(times);
    if (!timing.ok()) return 1;
    share = timing->seconds > 0 ? timing->stalled / timing->seconds : 0;
  }
  return share;
}

}  // namespace aqua::layer_swap
