// SPDX-License-Identifier: Apache-2.0
#include "progress_line.hpp"

#include <unistd.h>

#include <cstdio>

namespace aqua::example {

ProgressLine::ProgressLine(std::string name)
    : name_(std::move(name)), terminal_(::isatty(STDOUT_FILENO) == 1) {}

void ProgressLine::show(const std::string& text) {
  if (!due()) return;
  next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(terminal_ ? 200 : 5000);
  print(text, !terminal_);
}

void ProgressLine::end(const std::string& text) {
  print(text, true);
}

void ProgressLine::print(const std::string& text, bool stays) {
  std::printf("%s%-13s %s%s", terminal_ ? "\r\033[K" : "", name_.c_str(), text.c_str(),
              stays ? "\n" : "");
  std::fflush(stdout);
}

}  // namespace aqua::example
