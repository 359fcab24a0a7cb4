// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/fleet/lent_pool.hpp"

#include <algorithm>

namespace aqua::sim {

LentPool::LentPool(SlabMarket& market, double engine_bytes, std::function<void(Picos)> changed,
                   std::function<void(std::size_t, Picos)> returned)
    : market_(market),
      engine_bytes_(engine_bytes),
      changed_(std::move(changed)),
      returned_(std::move(returned)) {}

void LentPool::lend(std::size_t engine, Picos now) {
  const auto waking =
      std::ranges::find_if(waking_, [&](const Waking& one) { return one.engine == engine; });
  if (waking != waking_.end()) {
    waking->lends_again = true;
    return;
  }
  one_lends_ = market_.offer(engine_bytes_, now);
  lent_ += one_lends_;
  changed_(now);
}

void LentPool::take_back(std::size_t engine, Picos now) {
  const auto waking =
      std::ranges::find_if(waking_, [&](const Waking& one) { return one.engine == engine; });
  if (waking != waking_.end()) {
    waking->lends_again = false;
    return;
  }
  waking_.push_back({.engine = engine});
  proceed(now);
}

void LentPool::act(Picos now, Picos /*horizon*/) {
  market_.advance(now);
  changed_(now);
  proceed(now);
}

void LentPool::proceed(Picos now) {
  while (!waking_.empty()) {
    if (!asked_) {
      lent_ -= one_lends_;
      asked_ = true;
      (void)market_.reclaim(one_lends_, now + kReclaimPatience, now);
      changed_(now);
    }
    if (market_.lent_bytes() > lent_) return;
    asked_ = false;
    const Waking woken = waking_.front();
    waking_.pop_front();
    if (woken.lends_again) {
      lend(woken.engine, now);
    } else {
      returned_(woken.engine, now);
    }
  }
}

}  // namespace aqua::sim
