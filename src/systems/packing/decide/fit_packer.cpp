// SPDX-License-Identifier: Apache-2.0
#include "systems/packing/decide/fit_packer.hpp"

#include <optional>

namespace aqua::packing {

// The one with the least room. What leaves an engine already is still in its load, so that those
// with moves under way are passed over.
Engine* LbPacker::fullest() {
  for (const auto& [room, id] : fleet_.rooms()) {
    Engine& engine = fleet_.at(id);
    fleet_.look();
    if (!engine.busy()) return &engine;
  }
  return nullptr;
}

void LbPacker::improve() {
  while (Engine* const fullest_one = fullest()) {
    Engine& full = *fullest_one;
    Engine& light = fleet_.at(fleet_.rooms().rbegin()->second);
    fleet_.look();
    const std::int64_t gap = light.room() - full.room();
    const double share = static_cast<double>(gap) / static_cast<double>(full.usable);
    if (share <= options_.balance_gap) return;
    const std::uint64_t half = static_cast<std::uint64_t>(gap) / 2;
    auto found = full.residents.upper_bound({half, RequestId{UINT64_MAX}});
    if (found == full.residents.begin()) return;
    Request& request = fleet_.at((--found)->second);
    if (request.own == 0 || fleet_.need(request, light) > half) return;
    if (!fleet_.fits(request, light) || !draft_.affords(request)) return;
    draft_.relocate(request, light, Reason::balances);
  }
}

// The engine with the most room among active ones that have something and no moves under way; of
// equals the highest id.
Engine* DrainPacker::emptiest() {
  for (auto most = fleet_.rooms().rbegin(); most != fleet_.rooms().rend(); ++most) {
    Engine& engine = fleet_.at(most->second);
    fleet_.look();
    if (engine.held > 0 && !engine.busy()) return &engine;
  }
  return nullptr;
}

// If all of it fits elsewhere, moves as much of it as the plan affords: it remains the emptiest,
// and later plans move the rest.
bool DrainPacker::empty_one(Engine& engine) {
  if (draft_.moves_left() == 0) return false;
  const Draft::Mark mark = draft_.mark();
  std::optional<Draft::Mark> afforded;  // without what is too much
  // The largest first, while the others still have room for it.
  while (!engine.residents.empty()) {
    Request& request = fleet_.at(engine.residents.rbegin()->second);
    const Choice choice = fit(request, &engine, false);
    // Nor to an engine that is being emptied.
    if (choice.engine == nullptr || !choice.engine->in_use()) {
      draft_.rollback(mark);
      return false;
    }
    if (!afforded && !draft_.affords(request)) afforded = draft_.mark();
    draft_.relocate(request, *choice.engine, Reason::empties);
  }
  if (afforded) draft_.rollback(*afforded);
  return !afforded;
}

void DrainPacker::empty_engines() {
  for (Engine* engine = emptiest(); engine != nullptr && empty_one(*engine);) engine = emptiest();
}

}  // namespace aqua::packing
