// SPDX-License-Identifier: Apache-2.0
#include "systems/packing/decide/fit_packer.hpp"

#include <vector>

namespace aqua::packing {

void LbPacker::improve() {
  while (fleet_.rooms().size() > 1) {
    Engine& full = fleet_.at(fleet_.rooms().begin()->second);
    Engine& light = fleet_.at(fleet_.rooms().rbegin()->second);
    fleet_.look(2);
    const std::int64_t gap = light.room() - full.room();
    const double share = static_cast<double>(gap) / static_cast<double>(full.usable);
    // What leaves an engine already is still in its load.
    if (share <= options_.balance_gap || full.busy()) return;
    const std::uint64_t half = static_cast<std::uint64_t>(gap) / 2;
    auto found = full.residents.upper_bound({half, RequestId{UINT64_MAX}});
    if (found == full.residents.begin()) return;
    Request& request = fleet_.at((--found)->second);
    if (request.own == 0 || fleet_.need(request, light) > half) return;
    if (!fleet_.fits(request, light) || !draft_.affords(request)) return;
    draft_.relocate(request, light, Reason::balances);
  }
}

// Of active engines that have something, the one with the most room; of equals the highest id.
Engine* DrainPacker::emptiest() {
  for (auto most = fleet_.rooms().rbegin(); most != fleet_.rooms().rend(); ++most) {
    Engine& engine = fleet_.at(most->second);
    fleet_.look();
    if (engine.held > 0) return &engine;
  }
  return nullptr;
}

bool DrainPacker::empty_one(Engine& engine) {
  if (engine.busy() || engine.residents.size() > draft_.moves_left()) return false;
  const Draft::Mark mark = draft_.mark();
  // The largest first, while the others still have room for it.
  while (!engine.residents.empty()) {
    Request& request = fleet_.at(engine.residents.rbegin()->second);
    const Choice choice = fit(request, &engine, false);
    const bool nowhere = choice.engine == nullptr || choice.engine->held == 0;
    if (nowhere || !draft_.affords(request)) {
      draft_.rollback(mark);
      return false;
    }
    draft_.relocate(request, *choice.engine, Reason::empties);
  }
  return true;
}

void DrainPacker::empty_engines() {
  for (Engine* engine = emptiest(); engine != nullptr && empty_one(*engine);) engine = emptiest();
}

}  // namespace aqua::packing
