// SPDX-License-Identifier: Apache-2.0
#include "play/leftovers.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>

#include "daemon_program.hpp"

namespace aqua::pipeline {

// One that has died at last is not started anew before somebody looks.
void Leftovers::await_keeper() const {
  if (Daemon* const keeper = daemons_.keeper()) keeper->await_listening();
}

void Leftovers::await_none(const std::filesystem::path& server,
                           const std::function<bool(const SegmentStatus&)>& is_meant) const {
  constexpr std::chrono::seconds kMostWait{10};
  constexpr int kOneWait = 5;  // milliseconds; then it is asked again
  const auto deadline = std::chrono::steady_clock::now() + kMostWait;
  while (std::chrono::steady_clock::now() < deadline) {
    await_keeper();
    const auto kept = list_segments(example::keeper_socket(server));
    if (!kept.ok() || std::ranges::none_of(*kept, is_meant)) return;
    pollfd stop{stop_.fd(), POLLIN, 0};
    (void)::poll(&stop, 1, kOneWait);
    stop_.check();
  }
}

void Leftovers::look(Served& served, bool in_peace,
                     const std::vector<std::filesystem::path>& servers) const {
  if (!in_peace) {
    served.not_looked = "a process was killed as all ended";
    return;
  }
  await_keeper();
  std::size_t left = 0;
  for (const std::filesystem::path& server : servers) {
    const auto kept = list_segments(example::keeper_socket(server));
    if (!kept.ok()) {
      served.not_looked = "a keeper cannot be asked: " + kept.error().message;
      return;
    }
    left += kept->size();
  }
  served.segments_left = left;
}

}  // namespace aqua::pipeline
