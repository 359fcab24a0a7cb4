// SPDX-License-Identifier: Apache-2.0
#include "tools/report/progress_bar.hpp"

#include <unistd.h>

#include <cstdio>

#include "base/concat.hpp"

namespace aqua::tool {

ProgressBar::ProgressBar(bool wanted) : on_(wanted && ::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (!drawn_.empty()) std::fputs("\r\033[K", stderr);
}

void ProgressBar::show(const std::string& what, std::size_t done, std::size_t of) {
  if (!on_ || of == 0) return;
  constexpr std::size_t kWidth = 40;
  const std::size_t filled = done * kWidth / of;
  std::string line = concat("\r\033[K[", std::string(filled, '='),
                            std::string(kWidth - filled, ' '), "] ", done * 100 / of, " % ", what);
  if (line == drawn_) return;
  std::fputs(line.c_str(), stderr);
  drawn_ = std::move(line);
}

}  // namespace aqua::tool
