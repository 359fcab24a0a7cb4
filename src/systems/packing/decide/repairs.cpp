// SPDX-License-Identifier: Apache-2.0
#include "systems/packing/decide/repairs.hpp"

// Every step ends, because each repair only lowers a number that those after it leave alone:
//   pair_large   L-engines without a mate
//   fill_medium  how late the engines with single M were woken, and then their number
//   fill_small   the same of S-engines that are not full
//   share_holes  S on S-engines
//   fill_gap     tokens of T on T-engines, while engines of larger requests have room
//   fill_tiny    how late the T-engines were woken that are not full
// A guest that gives way goes where place() says, and counts for the last two only (an S: for
// fill_small).
namespace aqua::packing {

// Makes room on `to` by sending guests of at most `most_guest` tokens elsewhere, as few as do.
// Those that went before the plan's limit stay away: the next plan finds the same repair to be
// made, of which less is left.
bool Repairs::admit(Request& request, Engine& to, std::uint64_t most_guest, Reason reason) {
  const Draft::Mark mark = draft_.mark();
  bool affordable = true;
  while (!fleet_.fits(request, to)) {
    const auto excess =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(fleet_.need(request, to)) - to.room());
    auto found = to.residents.lower_bound({excess, RequestId{}});
    if (found == to.residents.end() || found->first > most_guest) {
      found = to.residents.upper_bound({most_guest, RequestId{UINT64_MAX}});
      if (found == to.residents.begin()) break;
      --found;
    }
    fleet_.look();
    Request& guest = fleet_.at(found->second);
    affordable = draft_.affords(guest);
    const Choice choice = affordable ? place_(guest, &to) : Choice{};
    if (choice.engine == nullptr) break;
    draft_.relocate(guest, *choice.engine, Reason::makes_room);
  }
  if (fleet_.fits(request, to)) {
    affordable = draft_.affords(request);
    if (affordable) {
      draft_.relocate(request, to, reason);
      return true;
    }
  }
  if (!affordable && draft_.mark() != mark) {
    cut_short_ = true;
    return true;
  }
  draft_.rollback(mark);
  return false;
}

// The largest S or M that fits goes to the L-engine that leaves the most.
bool Repairs::pair_large() {
  const auto& singles = board_.single_large();
  const auto& loose = board_.loose();
  if (singles.empty() || loose.empty()) return false;
  const auto [room, id] = *singles.rbegin();
  auto mate = loose.upper_bound({room, RequestId{UINT64_MAX}});
  fleet_.look(2);
  if (mate == loose.begin()) return false;
  Request& request = fleet_.at((--mate)->second);
  return admit(request, fleet_.at(id), board_.most_tiny(), Reason::beside_large);
}

Engine* Repairs::hole_for(const Board::Rooms& holes, const Request& request, const Engine& from) {
  auto found = holes.lower_bound({request.own, no_engine});
  if (found != holes.end() && found->second == from.id()) ++found;
  fleet_.look(2);
  return found == holes.end() ? nullptr : &fleet_.at(found->second);
}

// The M of the engine woken last goes where another one is.
bool Repairs::fill_medium() {
  const auto& holes = board_.recent_medium_holes();
  if (holes.size() < 2) return false;
  Engine& from = fleet_.at(holes.rbegin()->second);
  Request& request = fleet_.at(from.residents.rbegin()->second);
  Engine* to = hole_for(board_.medium_holes(), request, from);
  return to != nullptr && admit(request, *to, board_.most_small(), Reason::completes);
}

// The largest S of the engine woken last goes where others are.
bool Repairs::fill_small() {
  const auto& holes = board_.recent_small_holes();
  if (holes.size() < 2) return false;
  Engine& from = fleet_.at(holes.rbegin()->second);
  Request& request = fleet_.at(from.residents.rbegin()->second);
  Engine* to = hole_for(board_.small_holes(), request, from);
  return to != nullptr && admit(request, *to, board_.most_tiny(), Reason::completes);
}

// The last S go beside the last M, as guests.
bool Repairs::share_holes() {
  const auto& medium = board_.recent_medium_holes();
  const auto& small = board_.recent_small_holes();
  if (medium.empty() || small.empty()) return false;
  Engine& from = fleet_.at(small.rbegin()->second);
  Request& request = fleet_.at(from.residents.rbegin()->second);
  return admit(request, fleet_.at(medium.rbegin()->second), board_.most_tiny(), Reason::completes);
}

// The largest T that fits goes from the T-engine woken last to the engine with the most room.
bool Repairs::fill_gap() {
  if (board_.recent_tiny().empty() || board_.thin().empty()) return false;
  Engine& from = fleet_.at(board_.recent_tiny().rbegin()->second);
  const auto [room, id] = *board_.thin().rbegin();
  auto found = from.residents.upper_bound({room, RequestId{UINT64_MAX}});
  fleet_.look(2);
  if (found == from.residents.begin()) return false;
  return admit(fleet_.at((--found)->second), fleet_.at(id), 0, Reason::fills_gap);
}

// The same to the fullest of the other T-engines that are not full.
bool Repairs::fill_tiny() {
  const auto& recent = board_.recent_sparse_tiny();
  if (recent.size() < 2) return false;
  Engine& from = fleet_.at(recent.rbegin()->second);
  auto to = board_.sparse_tiny().begin();
  if (to->second == from.id()) ++to;
  auto found = from.residents.upper_bound({to->first, RequestId{UINT64_MAX}});
  fleet_.look(2);
  if (found == from.residents.begin()) return false;
  return admit(fleet_.at((--found)->second), fleet_.at(to->second), 0, Reason::fills_gap);
}

void Repairs::run(const std::function<bool()>& enough) {
  cut_short_ = false;
  while (!cut_short_ && !enough() && draft_.moves_left() > 0) {
    if (pair_large() || fill_medium() || fill_small() || share_holes() || fill_gap() ||
        fill_tiny()) {
      continue;
    }
    return;
  }
}

}  // namespace aqua::packing
