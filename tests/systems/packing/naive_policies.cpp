// SPDX-License-Identifier: Apache-2.0
// What the naive packer does by each policy.
#include <algorithm>

#include "tests/systems/packing/naive_packer.hpp"

namespace aqua::packing::test {

NaivePacker::Chosen NaivePacker::place(const NaiveRequest& r, EngineId except) const {
  if (policy_ != "mell") return fit(r, except, policy_ == "wf" || policy_ == "lb");
  if (const EngineId shares = sharer(r, except, false); shares != no_engine) {
    return {shares, Reason::prefix};
  }
  const std::uint64_t c = reference();
  if (4 * r.own <= c) {
    Ids gaps = thin();
    std::erase(gaps, except);
    std::sort(gaps.begin(), gaps.end());
    const EngineId gap = tightest(gaps, static_cast<std::int64_t>(r.own + r.shared));
    if (gap != no_engine) return {gap, Reason::fills_gap};
  } else if (2 * r.own <= c) {
    Ids large = singles();
    std::erase_if(large, [&](EngineId id) { return left(id, "LMS") < r.own; });
    std::sort(large.begin(), large.end(), [&](EngineId a, EngineId b) {
      return std::pair(left(a, "LMS"), a) < std::pair(left(b, "LMS"), b);
    });
    if (large.size() > 8) large.resize(8);
    for (const EngineId id : large) {
      if (id != except && fits(r, id)) return {id, Reason::beside_large};
    }
  }
  return fit(r, except, false);
}

void NaivePacker::improve() {
  if (policy_ == "lb") balance();
  if (policy_ == "drain" || policy_ == "pack") empty_engines();
  if (policy_ == "mell" || policy_ == "pack") repair();
}

bool NaivePacker::properties() const {
  if (policy_ != "mell" && policy_ != "pack") return false;
  std::uint64_t most = 0;
  for (const EngineId id : singles()) most = std::max(most, left(id, "LMS"));
  const auto mates = loose();
  const bool paired = singles().empty() ||
                      std::none_of(mates.begin(), mates.end(),
                                   [&](RequestId id) { return now_.requests.at(id).own <= most; });
  return paired && (board("T").empty() || thin().empty()) && holes('M').size() <= 1 &&
         holes('S').size() <= 1 && sparse().size() <= 1;
}

void NaivePacker::balance() {
  for (;;) {
    Ids all = engines_that(EngineState::active);
    if (all.size() < 2) return;
    std::sort(all.begin(), all.end(), [&](EngineId a, EngineId b) {
      return std::pair(room(a), a) < std::pair(room(b), b);
    });
    const EngineId light = all.back();
    std::erase_if(all, [&](EngineId id) { return in_transit(id); });
    if (all.empty()) return;
    const EngineId full = all.front();
    const std::int64_t gap = room(light) - room(full);
    if (static_cast<double>(gap) / static_cast<double>(usable(full)) <= options_.balance_gap)
      return;
    std::vector<RequestId> here = residents(full);
    std::erase_if(here, [&](RequestId id) {
      return 2 * now_.requests.at(id).own > static_cast<std::uint64_t>(gap);
    });
    if (here.empty()) return;
    const NaiveRequest& r = now_.requests.at(here.back());
    if (r.own == 0 || 2 * need(r, light) > static_cast<std::uint64_t>(gap)) return;
    if (!fits(r, light) || !affords(here.back())) return;
    relocate(here.back(), light, Reason::balances);
  }
}

bool NaivePacker::empty_one() {
  EngineId victim = no_engine;
  for (const EngineId id : engines_that(EngineState::active)) {
    if (held(id) == 0 || in_transit(id)) continue;
    if (victim == no_engine || room(id) >= room(victim)) victim = id;
  }
  if (victim == no_engine || moves_made() >= plan_.move_limit) return false;
  const NaiveFleet saved = now_;
  std::optional<NaiveFleet> affordable;  // as far as the limits let it go
  while (!residents(victim).empty()) {
    const RequestId id = residents(victim).back();
    const Chosen chosen = fit(now_.requests.at(id), victim, false);
    if (chosen.engine == no_engine || !has_home(chosen.engine)) {
      now_ = saved;
      return false;
    }
    if (!affordable && !affords(id)) affordable = now_;
    relocate(id, chosen.engine, Reason::empties);
  }
  if (affordable) now_ = *affordable;
  return !affordable;
}

void NaivePacker::empty_engines() {
  while (empty_one()) {
  }
}

// --- Mell ----------------------------------------------------------------------------------------

char NaivePacker::class_of(RequestId id) const {
  const std::uint64_t own = now_.requests.at(id).own, c = reference();
  if (own > c / 2) return 'L';
  if (own > c / 3) return 'M';
  return own > c / 4 ? 'S' : 'T';
}

std::vector<RequestId> NaivePacker::of_class(EngineId id, const std::string& classes) const {
  std::vector<RequestId> here = residents(id);
  std::erase_if(here, [&](RequestId r) { return classes.find(class_of(r)) == std::string::npos; });
  return here;
}

NaivePacker::Ids NaivePacker::board(const std::string& classes) const {
  Ids ids;
  for (const EngineId id : engines_that(EngineState::active)) {
    const std::vector<RequestId> here = residents(id);
    if (here.empty() || in_transit(id)) continue;
    if (classes.find(class_of(here.back())) != std::string::npos) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end(), [&](EngineId a, EngineId b) {
    return now_.engines.at(a).activated < now_.engines.at(b).activated;
  });
  return ids;
}

std::uint64_t NaivePacker::left(EngineId id, const std::string& natives) const {
  std::uint64_t kept = held(id);
  for (const RequestId r : residents(id)) {
    if (natives.find(class_of(r)) == std::string::npos) kept -= now_.requests.at(r).own;
  }
  return usable(id) > kept ? usable(id) - kept : 0;
}

NaivePacker::Ids NaivePacker::singles() const {
  Ids ids = board("L");
  std::erase_if(ids, [&](EngineId id) { return !of_class(id, "MS").empty(); });
  return ids;
}

std::vector<RequestId> NaivePacker::loose() const {
  std::vector<RequestId> ids;
  for (const EngineId id : board("MS")) {
    for (const RequestId r : of_class(id, "MS")) ids.push_back(r);
  }
  std::sort(ids.begin(), ids.end(), [&](RequestId a, RequestId b) {
    return std::pair(now_.requests.at(a).own, a) < std::pair(now_.requests.at(b).own, b);
  });
  return ids;
}

NaivePacker::Ids NaivePacker::holes(char of) const {
  Ids ids = board(std::string(1, of));
  std::erase_if(ids, [&](EngineId id) {
    return of == 'M' ? of_class(id, "M").size() > 1 : of_class(id, "S").size() > 2;
  });
  return ids;
}

NaivePacker::Ids NaivePacker::thin() const {
  Ids ids = board("LMS");
  std::erase_if(ids, [&](EngineId id) { return three_quarters(id); });
  return ids;
}

NaivePacker::Ids NaivePacker::sparse() const {
  Ids ids = board("T");
  std::erase_if(ids, [&](EngineId id) { return three_quarters(id); });
  return ids;
}

bool NaivePacker::admit(RequestId id, EngineId to, std::uint64_t most_guest, Reason reason) {
  const NaiveFleet saved = now_;
  bool some_gave_way = false;
  const auto cut_short = [&] {
    cut_short_ = some_gave_way;
    if (!some_gave_way) now_ = saved;
    return some_gave_way;
  };
  while (!fits(now_.requests.at(id), to)) {
    const auto lacks = static_cast<std::uint64_t>(
        static_cast<std::int64_t>(need(now_.requests.at(id), to)) - room(to));
    std::vector<RequestId> guests = residents(to);
    std::erase_if(guests, [&](RequestId g) { return now_.requests.at(g).own > most_guest; });
    if (guests.empty()) break;
    const auto enough = std::find_if(guests.begin(), guests.end(),
                                     [&](RequestId g) { return now_.requests.at(g).own >= lacks; });
    const RequestId guest = enough != guests.end() ? *enough : guests.back();
    if (!affords(guest)) return cut_short();
    const Chosen chosen = choose(now_.requests.at(guest), to);
    if (chosen.engine == no_engine) break;
    relocate(guest, chosen.engine, Reason::makes_room);
    some_gave_way = true;
  }
  if (fits(now_.requests.at(id), to)) {
    if (!affords(id)) return cut_short();
    relocate(id, to, reason);
    return true;
  }
  now_ = saved;
  return false;
}

bool NaivePacker::repair_once() {
  const std::uint64_t tiny = reference() / 4, small = reference() / 3;
  const auto by = [](auto&& key) {
    return [key](EngineId a, EngineId b) { return std::pair(key(a), a) < std::pair(key(b), b); };
  };
  const auto largest = [&](EngineId id, std::uint64_t most) {
    std::vector<RequestId> here = residents(id);
    std::erase_if(here, [&](RequestId r) { return now_.requests.at(r).own > most; });
    return here.empty() ? std::optional<RequestId>() : here.back();
  };
  // An S or M beside an L.
  if (Ids large = singles(); !large.empty()) {
    const auto room_beside = [&](EngineId id) { return left(id, "LMS"); };
    const EngineId to = *std::max_element(large.begin(), large.end(), by(room_beside));
    std::vector<RequestId> mates = loose();
    std::erase_if(mates, [&](RequestId r) { return now_.requests.at(r).own > room_beside(to); });
    if (!mates.empty() && admit(mates.back(), to, tiny, Reason::beside_large)) return true;
  }
  // Holes of M, then of S.
  for (const char of : {'M', 'S'}) {
    Ids open = holes(of);
    if (open.size() < 2) continue;
    const RequestId r = residents(open.back()).back();
    open.pop_back();
    const auto room_for = [&](EngineId id) { return left(id, of == 'M' ? "LM" : "LMS"); };
    std::erase_if(open, [&](EngineId id) { return room_for(id) < now_.requests.at(r).own; });
    if (open.empty()) continue;
    const EngineId to = *std::min_element(open.begin(), open.end(), by(room_for));
    if (admit(r, to, of == 'M' ? small : tiny, Reason::completes)) return true;
  }
  if (!holes('M').empty() && !holes('S').empty()) {
    const RequestId r = residents(holes('S').back()).back();
    if (admit(r, holes('M').back(), tiny, Reason::completes)) return true;
  }
  const auto room_of = [&](EngineId id) { return static_cast<std::uint64_t>(room(id)); };
  if (const Ids gaps = thin(); !gaps.empty() && !board("T").empty()) {
    const EngineId to = *std::max_element(gaps.begin(), gaps.end(), by(room_of));
    const auto r = largest(board("T").back(), room_of(to));
    if (r && admit(*r, to, 0, Reason::fills_gap)) return true;
  }
  Ids open = sparse();
  if (open.size() < 2) return false;
  const EngineId from = open.back();
  open.pop_back();
  const EngineId to = *std::min_element(open.begin(), open.end(), by(room_of));
  const auto r = largest(from, room_of(to));
  return r && admit(*r, to, 0, Reason::fills_gap);
}

void NaivePacker::repair() {
  cut_short_ = false;
  while (!cut_short_ && !(policy_ == "pack" && few_enough()) && moves_made() < plan_.move_limit &&
         repair_once()) {
  }
}

}  // namespace aqua::packing::test
