// SPDX-License-Identifier: Apache-2.0
#include "show/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace aqua::example {
namespace {

constexpr std::size_t kUsualColumns = 80;  // where nobody says

// A line as wide as the terminal is wraps on some.
std::size_t columns() {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return (known ? size.ws_col : kUsualColumns) - 1;
}

}  // namespace

Progress::Progress() : terminal_(::isatty(STDOUT_FILENO) == 1) {}

void Progress::show(const Standing& now, const std::vector<std::string>& news) {
  if (news.empty() && now.seconds < next_) return;
  next_ = now.seconds + (terminal_ ? 0.2 : 1.0);
  const std::size_t width = columns();
  const char* end = terminal_ ? "\033[K\n" : "\n";  // clears to the end of the line
  if (lines_shown_ > 0) std::printf("\033[%zuA", lines_shown_);
  for (const std::string& each : news) {
    std::printf("%s%s", news_line(now.seconds, each, width).c_str(), end);
  }
  if (terminal_) {
    const auto block = live_block(now, width);
    for (const std::string& line : block) std::printf("%s%s", line.c_str(), end);
    lines_shown_ = block.size();
  } else {
    std::printf("%s%s", live_line(now, width).c_str(), end);
  }
  std::fflush(stdout);
}

}  // namespace aqua::example
