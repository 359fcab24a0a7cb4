// SPDX-License-Identifier: Apache-2.0
// JointSteps is what lies within a block at both ends of a copy: axes of as many places with a
// stride at each end, around pieces of bytes. What lies side by side at both is merged.
#pragma once

#include <cstddef>
#include <vector>

#include "layout/block_copy.hpp"

namespace aqua::layout {

struct JointStep {
  std::size_t count = 1;
  std::size_t dst = 0;  // stride
  std::size_t src = 0;
};

class JointSteps {
 public:
  explicit JointSteps(std::size_t piece_bytes) noexcept : bytes_(piece_bytes) {}
  void add(const JointStep& step) {
    if (step.count > 1) steps_.push_back(step);
  }
  void merge();
  // The steps of the larger strides around the others, as the side has them that is named.
  void sort(std::size_t JointStep::*stride);
  // More than BlockCopy::outer and ::inner are.
  [[nodiscard]] bool too_many() const noexcept { return steps_.size() > 2; }
  // Fills in pieces, steps and their strides. Of too many steps the first are gone through by
  // planes of their own: both sides have planes then.
  void give_to(BlockCopy& copy) const;

 private:
  std::vector<JointStep> steps_;
  std::size_t bytes_;
};

}  // namespace aqua::layout
