// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/watch.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>

namespace aqua::tool {
namespace {

// The terminal's other screen, without a cursor; as it was, afterwards.
class Screen {
 public:
  explicit Screen(bool used) : used_(used) {
    if (used_) std::fputs("\033[?1049h\033[?25l", stdout);
  }
  ~Screen() {
    if (used_) std::fputs("\033[?25h\033[?1049l", stdout);
    std::fflush(stdout);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

 private:
  const bool used_;
};

}  // namespace

std::string redrawn(const std::string& text) {
  std::string out = "\033[H";
  for (const char c : text) {
    if (c == '\n') out += "\033[K";
    out += c;
  }
  return out + "\033[J";
}

int watch(const std::function<Result<std::string>()>& look, std::chrono::milliseconds interval) {
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGINT);
  ::sigaddset(&ends, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(interval);
  const timespec pause{.tv_sec = seconds.count(),
                       .tv_nsec = std::chrono::nanoseconds(interval - seconds).count()};
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const Screen screen(terminal);
  for (;;) {
    const auto text = look();
    if (terminal) {
      std::fputs(redrawn(text.ok() ? *text : text.error().message + "\n").c_str(), stdout);
    } else if (text.ok()) {
      std::fputs(text->c_str(), stdout);
    } else {
      std::fprintf(stderr, "aqua: %s\n", text.error().message.c_str());
    }
    if (std::fflush(stdout) != 0) return 1;
    if (::sigtimedwait(&ends, nullptr, &pause) > 0) return 0;
  }
}

}  // namespace aqua::tool
