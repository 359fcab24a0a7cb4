// SPDX-License-Identifier: Apache-2.0
#include "tests/kill/arming.hpp"

#include <signal.h>

#include <atomic>
#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include "base/concat.hpp"
#include "base/step.hpp"

namespace aqua::kill_test {
namespace {

struct Armed {
  Armed(std::string_view name, int times, int with) : step(name), left(times), signal(with) {}
  const std::string step;
  std::atomic<int> left;
  const int signal;
};

std::atomic<Armed*> current{nullptr};

void on_step(const char* name) {
  Armed* const armed = current.load();
  if (armed == nullptr || armed->step != name || armed->left.fetch_sub(1) != 1) return;
  ::raise(armed->signal);  // to this thread, so that it is here that the process ends or waits
}

}  // namespace

Result<void> arm(std::string_view at) {
  // Kept for good: another thread may be inside the hook with a former one.
  static std::vector<std::unique_ptr<Armed>> all;
  if (at.empty()) {
    current.store(nullptr);
    return {};
  }
  const std::size_t first = at.find(':');
  const std::size_t second = at.find(':', first + 1);
  int count = 0;
  const char* const number = at.data() + first + 1;
  const bool well_formed =
      second != std::string_view::npos &&
      std::from_chars(number, at.data() + second, count).ptr == at.data() + second;
  const std::string_view action = well_formed ? at.substr(second + 1) : std::string_view{};
  if (count < 1 || (action != "kill" && action != "stop")) {
    return Error{Code::invalid_argument, concat("arm: '", at, "': expected STEP:COUNT:kill|stop")};
  }
  all.push_back(
      std::make_unique<Armed>(at.substr(0, first), count, action == "kill" ? SIGKILL : SIGSTOP));
  current.store(all.back().get());
  step_hook.store(&on_step);
  return {};
}

}  // namespace aqua::kill_test
