// SPDX-License-Identifier: Apache-2.0
#include "layout/joint_steps.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>

namespace aqua::layout {
namespace {

// Each plane as `count` of them.
void split(std::vector<std::byte*>& planes, std::size_t count, std::size_t stride) {
  std::vector<std::byte*> finer;
  finer.reserve(planes.size() * count);
  for (std::byte* plane : planes)
    for (std::size_t i = 0; i < count; ++i) finer.push_back(plane + i * stride);
  planes = std::move(finer);
}

}  // namespace

void JointSteps::merge() {
  const auto side_by_side = [this](const JointStep& step) {
    return step.dst == bytes_ && step.src == bytes_;
  };
  for (auto step = std::ranges::find_if(steps_, side_by_side); step != steps_.end();
       step = std::ranges::find_if(steps_, side_by_side)) {
    bytes_ *= step->count;
    steps_.erase(step);
  }
  // A step that goes on where another one ends is more of that one.
  for (std::size_t i = 0; i < steps_.size();) {
    const JointStep outer = steps_[i];
    const auto inner = std::ranges::find_if(steps_, [&](const JointStep& step) {
      return outer.dst == step.count * step.dst && outer.src == step.count * step.src &&
             outer.count * step.count <= UINT32_MAX;
    });
    if (inner == steps_.end()) {
      ++i;
      continue;
    }
    inner->count *= outer.count;
    steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;
  }
}

void JointSteps::sort(std::size_t JointStep::*stride) {
  std::ranges::stable_sort(steps_, std::greater{}, stride);
}

void JointSteps::give_to(BlockCopy& copy) const {
  std::span<const JointStep> left = steps_;
  for (; left.size() > 2; left = left.subspan(1)) {
    split(copy.dst.planes, left.front().count, left.front().dst);
    split(copy.src.planes, left.front().count, left.front().src);
  }
  copy.piece_bytes = bytes_;
  const auto take = [&](std::uint32_t& count, std::size_t BlockEnd::*stride) {
    if (left.empty()) return;
    count = static_cast<std::uint32_t>(left.back().count);
    copy.dst.*stride = left.back().dst;
    copy.src.*stride = left.back().src;
    left = left.first(left.size() - 1);
  };
  take(copy.inner, &BlockEnd::inner_stride);
  take(copy.outer, &BlockEnd::outer_stride);
}

}  // namespace aqua::layout
