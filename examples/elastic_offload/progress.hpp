// SPDX-License-Identifier: Apache-2.0
// Progress shows a run while it goes on: a block of lines that is rewritten in place on a
// terminal, and a line every second elsewhere.
#pragma once

#include "play.hpp"

namespace aqua::example {

class Progress {
 public:
  Progress();
  // Does nothing when it is too soon.
  void show(const Play& play, Fleet& fleet, double seconds);

 private:
  const bool terminal_;
  double next_ = 0;
  int lines_shown_ = 0;
};

// Sorted samples by nearest rank; 0 when there are none.
[[nodiscard]] double percentile(std::vector<double> samples, double percent);

}  // namespace aqua::example
