// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/fleet/power.hpp"

#include <algorithm>

namespace aqua::sim {

Power::Power(std::size_t engines, const Rules& rules)
    : rules_(rules),
      state_(engines, State::off),
      up_at_(engines, kNever),
      lingers_until_(engines, kNever) {
  powered_ = rules.fixed ? engines : std::min(rules.spare, engines);
  std::fill_n(state_.begin(), powered_, State::up);
}

Picos Power::next() const {
  Picos at = kNever;
  for (std::size_t engine = 0; engine < state_.size(); ++engine) {
    at = std::min({at, up_at_[engine], lingers_until_[engine]});
  }
  return at;
}

std::vector<std::size_t> Power::come_up(Picos now) {
  std::vector<std::size_t> come;
  for (std::size_t engine = 0; engine < state_.size(); ++engine) {
    if (up_at_[engine] > now) continue;
    up_at_[engine] = kNever;
    state_[engine] = State::up;
    come.push_back(engine);
  }
  return come;
}

void Power::turn(std::size_t engine, bool on, Picos now) {
  engine_seconds_ = engine_seconds(now);
  counted_ = now;
  state_[engine] = on ? State::booting : State::off;
  up_at_[engine] = on && !rules_.turned ? now + rules_.boot : kNever;
  powered_ += on ? 1 : std::size_t{0} - 1;
  boots_ += on ? 1 : 0;
  if (rules_.turned) rules_.turned(engine, on, now);
}

void Power::settle(const std::function<bool(std::size_t)>& used, Picos now) {
  if (rules_.fixed) return;
  std::vector<std::size_t> on, off;  // unused
  for (std::size_t engine = 0; engine < state_.size(); ++engine) {
    const bool is_off = state(engine) == State::off;
    if (used(engine)) {
      lingers_until_[engine] = kNever;
      if (is_off) turn(engine, true, now);
    } else {
      (is_off ? off : on).push_back(engine);
    }
  }
  for (std::size_t k = 0; on.size() + k < rules_.spare && k < off.size(); ++k) {
    turn(off[k], true, now);
  }
  // Those that still boot go first, then the last ones.
  std::ranges::stable_sort(on, {},
                           [&](std::size_t engine) { return state_[engine] == State::booting; });
  for (std::size_t k = on.size(); k-- > 0;) {
    Picos& until = lingers_until_[on[k]];
    if (k < rules_.spare) {
      until = kNever;
    } else if (until == kNever && rules_.linger > 0) {
      until = now + rules_.linger;
    } else if (until == kNever || until <= now) {
      until = kNever;
      turn(on[k], false, now);
    }
  }
}

}  // namespace aqua::sim
