// SPDX-License-Identifier: Apache-2.0
#include "systems/packing/decide/board.hpp"

// Invariant: entries_ names exactly what the sets have of each engine, so that a change of an
// engine takes out the old and puts in the new, and costs the logarithm of the fleet: no engine has
// more than four requests above a quarter of the capacity, or few more when it is overloaded.
namespace aqua::packing {

void Board::put(Entry& entry, Rooms& rooms, std::uint64_t by, EngineId id) {
  rooms.insert({by, id});
  entry.rooms.push_back({&rooms, {by, id}});
}

void Board::clear(Entry& entry) {
  for (const auto& [rooms, key] : entry.rooms) rooms->erase(key);
  for (const auto& key : entry.loose) loose_.erase(key);
  entry.rooms.clear();
  entry.loose.clear();
}

void Board::sort(const Engine& engine, Entry& entry) {
  std::uint64_t large = 0, medium = 0, small = 0;  // how many
  std::uint64_t above_tiny = 0, above_small = 0;   // own tokens
  std::vector<Sizes::value_type> mates;
  for (auto each = engine.residents.rbegin(); each != engine.residents.rend(); ++each) {
    const Class is = class_of(each->first);
    if (is == Class::tiny) break;
    fleet_.look();
    above_tiny += each->first;
    if (is != Class::small) above_small += each->first;
    (is == Class::large ? large : is == Class::medium ? medium : small) += 1;
    if (is != Class::large) mates.push_back(*each);
  }
  // Left when T, or S and T, give way. Prefixes stay.
  const auto left = [&](std::uint64_t natives) {
    const std::uint64_t kept = engine.held - engine.own + natives;
    return engine.usable > kept ? engine.usable - kept : 0;
  };
  const EngineId id = engine.id();
  const bool three_quarters = 4 * engine.held >= 3 * engine.usable;
  const std::uint64_t room = left(engine.own);
  if (large + medium + small == 0) {
    put(entry, recent_tiny_, engine.activated, id);
    if (three_quarters) return;
    put(entry, sparse_tiny_, room, id);
    put(entry, recent_sparse_tiny_, engine.activated, id);
    return;
  }
  if (!three_quarters) put(entry, thin_, room, id);
  if (large > 0) {
    if (mates.empty()) put(entry, single_large_, left(above_tiny), id);
    return;
  }
  for (const auto& mate : mates) {
    loose_.insert(mate);
    entry.loose.push_back(mate);
  }
  if (medium == 1) {
    put(entry, medium_holes_, left(above_small), id);
    put(entry, recent_medium_holes_, engine.activated, id);
  } else if (medium == 0 && small < 3) {
    put(entry, small_holes_, left(above_tiny), id);
    put(entry, recent_small_holes_, engine.activated, id);
  }
}

void Board::engine_changed(Engine& engine) {
  Entry& entry = entries_[static_cast<std::uint64_t>(engine.id())];
  clear(entry);
  if (engine.state == EngineState::active && !engine.busy() && !engine.residents.empty()) {
    sort(engine, entry);
  } else {
    entries_.erase(static_cast<std::uint64_t>(engine.id()));
  }
}

void Board::reference_changed() {
  for (const auto& [id, engine] : fleet_.engines()) engine_changed(fleet_.at(id));
}

bool Board::holds() const {
  const bool paired = single_large_.empty() || loose_.empty() ||
                      loose_.begin()->first > single_large_.rbegin()->first;
  const bool filled = recent_tiny_.empty() || thin_.empty();
  return paired && filled && medium_holes_.size() <= 1 && small_holes_.size() <= 1 &&
         sparse_tiny_.size() <= 1;
}

}  // namespace aqua::packing
