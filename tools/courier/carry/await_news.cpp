// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/carry/await_news.hpp"

#include <poll.h>

#include <algorithm>
#include <optional>

#include "base/try.hpp"

namespace aqua::courier {

Result<News> await_news(Link& link, const std::vector<int>& keeper, int stop,
                        std::chrono::steady_clock::time_point until) {
  using Clock = std::chrono::steady_clock;
  std::vector<pollfd> watched{{stop, POLLIN, 0}, {link.descriptor(), POLLIN, 0}, {-1, POLLIN, 0}};
  for (const int fd : keeper) watched.push_back({fd, POLLIN, 0});
  std::optional<Error> carrier_fault;
  bool carrier_alone = true;  // which has something to do, and no news
  while (carrier_alone) {
    const auto waits = link.ready_to_wait();
    if (!waits.ok()) carrier_fault = waits.error();
    watched[2].fd = waits.ok() ? *waits : -1;
    int patience = link.has_bytes() || carrier_fault ? 0 : -1;
    if (patience != 0 && until != Clock::time_point::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
      patience = std::max(0, static_cast<int>(left.count()));
    }
    const int ready = ::poll(watched.data(), watched.size(), patience);
    carrier_alone = !carrier_fault && ready == 1 && watched[2].revents != 0 && !link.has_bytes() &&
                    Clock::now() < until;
  }
  if (watched[0].revents != 0) return Error{Code::cancelled, "courier: stopping"};
  // What the other side has said before its carrier ended is heard first.
  const bool is_said = watched[1].revents != 0 || link.has_bytes();
  if (carrier_fault && !is_said) return *carrier_fault;
  News news{.keeper = std::any_of(watched.begin() + 3, watched.end(),
                                  [](const pollfd& one) { return one.revents != 0; })};
  if (is_said) {
    AQUA_ASSIGN(news.frame, link.receive());
  }
  news.late = !news.keeper && !news.frame && Clock::now() >= until;
  return news;
}

}  // namespace aqua::courier
