// SPDX-License-Identifier: Apache-2.0
// Requests that come and go between engines, by chance, for tests of schedulers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "tests/systems/schedule/engine.hpp"

namespace aqua::schedule::test {

// What moves did in a run, so that a test sees that there were some.
struct Moves {
  std::size_t came = 0, came_with_kv = 0, held = 0, departed = 0;
};

// An answer that another engine began, with none, some or all of its KV, in the cache or in blocks
// of the device. Leads are sums of quarters, which are exact in binary. Does not come where it does
// not fit.
inline void come_from_elsewhere(Engine& engine, std::mt19937_64& random, double weight,
                                Moves& moves) {
  const auto up_to = [&](std::uint64_t n) {
    return static_cast<std::uint32_t>(random() % (n + 1));
  };
  const SchedulerStatus status = engine.scheduler().status();
  const std::uint32_t block = engine.options().block_tokens;
  const std::uint32_t prompt = 1 + up_to(50), generated = up_to(10);
  const std::uint32_t known = prompt + generated;
  const std::uint32_t output = generated + 1 + up_to(30);
  if (known > status.device_blocks * block) return;
  constexpr Tier kIn[] = {Tier::local, Tier::peer, Tier::host};
  const bool tell = up_to(1) == 0 && prompt + output <= status.device_blocks * block;
  Request request{.prompt_tokens = prompt,
                  .max_new_tokens = tell ? output : 0,
                  .generated_tokens = generated,
                  .cached_tokens = up_to(1) == 0 ? known : up_to(known),
                  .cached_in = kIn[up_to(2)],
                  .tenant = TenantId{up_to(4)},
                  .weight = weight,
                  .lead = 0.25 * (static_cast<double>(up_to(40)) - 8)};
  const std::uint32_t kv = std::min(request.cached_tokens, known - 1);
  if (request.cached_in == Tier::local &&
      (kv + block - 1) / block + status.device_blocks_held > status.device_blocks) {
    return;
  }
  engine.come(request, output);
  moves.came += 1;
  moves.came_with_kv += request.cached_in == Tier::local && kv > 0;
}

// Somebody is held, goes on, or goes away for good.
inline void hold_and_release(Engine& engine, std::mt19937_64& random, Moves& moves) {
  if (engine.sequences().empty()) return;
  auto at = engine.sequences().begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random() % engine.sequences().size()));
  const std::uint64_t id = at->first;
  const bool holds = at->second.held || at->second.to_hold;
  if (!holds) {
    moves.held += engine.hold(id);
  } else if (random() % 2 == 0) {
    engine.release(id);
  } else {
    engine.depart(id);
    moves.departed += 1;
  }
}

inline void release_all(Engine& engine) {
  for (const auto& [id, s] : engine.sequences()) {
    if (s.held || s.to_hold) engine.release(id);
  }
}

}  // namespace aqua::schedule::test
