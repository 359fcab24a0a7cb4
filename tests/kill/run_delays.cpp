// SPDX-License-Identifier: Apache-2.0
#include "tests/kill/run_delays.hpp"

#include <filesystem>
#include <fstream>
#include <string>

namespace aqua::kill_test {

RunDelays::RunDelays(std::vector<pid_t> processes)
    : processes_(std::move(processes)), before_(by_thread()) {}

std::chrono::milliseconds RunDelays::so_far() const {
  std::chrono::nanoseconds delay{0};
  for (const auto& [thread, now] : by_thread()) {
    const auto then = before_.find(thread);
    delay += then == before_.end() ? now : now - then->second;
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(delay);
}

std::map<pid_t, std::chrono::nanoseconds> RunDelays::by_thread() const {
  std::map<pid_t, std::chrono::nanoseconds> delays;
  for (const pid_t process : processes_) {
    std::error_code gone;  // a thread or a process that ends meanwhile is left out
    const std::string tasks = "/proc/" + std::to_string(process) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
      std::ifstream schedstat(task.path() / "schedstat");
      std::int64_t ran = 0, waited = 0;
      if (schedstat >> ran >> waited)
        delays[std::stoi(task.path().filename())] = std::chrono::nanoseconds(waited);
    }
  }
  return delays;
}

}  // namespace aqua::kill_test
