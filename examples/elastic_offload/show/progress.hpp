// SPDX-License-Identifier: Apache-2.0
// Progress shows a run while it goes on: news as lines that stay and, below them on a terminal, a
// block of lines that is rewritten in place; elsewhere a line every second.
#pragma once

#include "show/live.hpp"

namespace aqua::example {

class Progress {
 public:
  Progress();
  // `news` at once; how things stand, unless it is too soon.
  void show(const Standing& now, const std::vector<std::string>& news);

 private:
  const bool terminal_;
  double next_ = 0;
  std::size_t lines_shown_ = 0;
};

}  // namespace aqua::example
