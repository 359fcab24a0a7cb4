// SPDX-License-Identifier: Apache-2.0
// The engine while nobody asks it: it lends its KV memory, and is woken by a reclaim.
//
// Nothing is lent but where there is no request, no room and no kept prefix, so that no byte of KV
// is in what goes. A request whose blocks are not back waits here, unknown to the scheduler, which
// would call it too large.
#include <algorithm>

#include "serve/engine.hpp"

namespace aqua::fleet {
namespace {

// What is not back then is counted out until it comes.
constexpr std::chrono::milliseconds kWakePatience{20'000};
// For borrowers to move off, after which they are asked again.
constexpr std::chrono::milliseconds kDeadline{2000};
// A loan that is on its way to the coordinator can only be taken back once it is lent.
constexpr std::chrono::milliseconds kAskAgain{20};
// How often copies of KV are looked at: nothing signals their end.
constexpr std::chrono::milliseconds kGlance{1};

}  // namespace

std::uint32_t Engine::blocks_here() const {
  const OwnBlocks* own = cache_.own();
  return own == nullptr ? pool_blocks_ : std::min(options_.blocks, own->usable());
}

// Waits for news; without a request for long enough it lends meanwhile.
void Engine::rest() {
  OwnBlocks* own = cache_.own();
  if (!waking_.empty()) return (void)inbox_.wait_for(kAskAgain);
  if (copies_are_under_way()) return (void)inbox_.wait_for(kGlance);
  const bool idle = sequences_.empty() && incoming_.empty();
  if (own == nullptr || !idle || own->lends() || options_.lend_after.count() == 0)
    return inbox_.wait();
  if (inbox_.wait_for(options_.lend_after)) return;
  kept_.drop_all();
  (void)own->lend(cache_.stream());
}

bool Engine::has_to_wait(const Asked& asked) const {
  const OwnBlocks* own = cache_.own();
  if (own == nullptr || !own->lends()) return false;
  const std::uint64_t most = asked.prompt.size() + asked.max_tokens;
  // What is kept may be its own beginning, and is given up where it is in the way.
  return cache_.blocks_for(most) > blocks_here();
}

void Engine::wake(Arrival& arrival) {
  const auto now = std::chrono::steady_clock::now();
  waking_.push_back({std::move(arrival), now, now + kWakePatience});
}

void Engine::go_on_waking() {
  if (waking_.empty()) return;
  cache_.own()->take_back(kDeadline);
  const auto now = std::chrono::steady_clock::now();
  std::list<Waking> due;
  for (auto at = waking_.begin(); at != waking_.end();) {
    const auto one = at++;
    if (!has_to_wait(one->arrival.asked) || now >= one->until) due.splice(due.end(), waking_, one);
  }
  for (Waking& one : due) {
    {
      const std::lock_guard lock(mu_);
      ++status_.wakes;
      status_.wake_seconds += std::chrono::duration<double>(now - one.since).count();
    }
    begin(one.arrival);
  }
}

}  // namespace aqua::fleet
