// SPDX-License-Identifier: Apache-2.0
// What is asked of the record; how one call moves other parcels is in parcel_moves.cpp, what
// members are told in parcel_news.cpp.
//
// At most one parcel of an id is complete and not replaced: closing one ends or replaces those that
// were.
#include "parcel/parcel_book.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua {
namespace {

template <typename... What>
Error wrong_state(const What&... what) {
  return Error{Code::failed_precondition, concat(what...)};
}

bool is_taken(ParcelState state) {
  return state == ParcelState::taken || state == ParcelState::confirmed;
}

}  // namespace

Result<void> ParcelBook::check_member(const char* call, MemberNumber member) const {
  if (is_member(member)) return {};
  return Error{Code::not_found, concat(call, ": the caller is no member")};
}

Result<void> ParcelBook::check_turn(MemberNumber giver, const ParcelHead& head) const {
  if (head.turn > kMostTurn) {
    return Error{Code::invalid_argument,
                 concat("offer: ", head.id, ": turn ", head.turn, ", of at most ", kMostTurn)};
  }
  const auto known = turns_.find(head.id);
  if (known == turns_.end()) return {};
  if (head.turn <= known->second.highest) {
    return Error{Code::aborted, concat("offer: ", head.id, ": turn ", head.turn, ", and turn ",
                                       known->second.highest, " has been seen")};
  }
  const bool superseded =
      std::any_of(known->second.numbers.begin(), known->second.numbers.end(), [&](auto number) {
        const Record& record = parcels_.at(number);
        return record.taker == giver && record.superseded;
      });
  if (!superseded) return {};
  return Error{Code::aborted,
               concat("offer: ", head.id, ": what the caller has of it is superseded")};
}

Result<ParcelBook::Record*> ParcelBook::given(const char* call, MemberNumber giver,
                                              std::uint64_t number) {
  AQUA_TRY(check_member(call, giver));
  const auto found = parcels_.find(number);
  if (found != parcels_.end() && found->second.giver == giver) return &found->second;
  return Error{Code::not_found, concat(call, ": the caller gives no parcel ", number)};
}

Result<ParcelBook::Record*> ParcelBook::taken(const char* call, MemberNumber taker,
                                              std::uint64_t number) {
  AQUA_TRY(check_member(call, taker));
  const auto found = parcels_.find(number);
  if (found != parcels_.end() && found->second.taker == taker) return &found->second;
  return Error{Code::not_found, concat(call, ": the caller has taken no parcel ", number)};
}

Result<void> ParcelBook::join(MemberNumber member, const std::string& role) {
  AQUA_TRY(check_role("join", role));
  if (members_.contains(member)) {
    return Error{Code::already_exists, "join: the caller is a member"};
  }
  members_[member] = {.role = role};
  return {};
}

Result<void> ParcelBook::join_courier(MemberNumber member, const std::string& role,
                                      const Courier& courier) {
  AQUA_TRY(join(member, role));
  members_.at(member).courier = courier;
  return {};
}

Result<void> ParcelBook::admit(MemberNumber member, const std::string& from,
                               std::uint32_t parcels) {
  AQUA_TRY(check_member("admit", member));
  Member& known = members_.at(member);
  const auto spoken = known.room.find(from);
  const std::int64_t room = (spoken == known.room.end() ? 0 : spoken->second) + parcels;
  AQUA_TRY(check_room(from, static_cast<std::uint64_t>(std::max<std::int64_t>(room, 0))));
  if (spoken == known.room.end() && known.room.size() >= kMostRoomRoles) {
    return Error{Code::resource_exhausted,
                 concat("admit: the caller has spoken of ", known.room.size(), " roles")};
  }
  known.room[from] = room;
  open_reserved({known.role, from});
  return {};
}

Result<std::uint64_t> ParcelBook::begin(const char* call, MemberNumber giver,
                                        const std::string& role, const ParcelHead& head,
                                        ParcelState state) {
  AQUA_TRY(check_member(call, giver));
  AQUA_TRY(check_role(call, role));
  AQUA_TRY(check_id(call, head.id));
  AQUA_TRY(check_turn(giver, head));
  if (parcels_.size() >= kMostParcels) {
    return Error{Code::resource_exhausted, concat(call, ": ", parcels_.size(), " parcels")};
  }
  if (const auto untold = news_.find(giver); untold != news_.end()) {
    const std::size_t of_given = untold->second.size() - members_.at(giver).cut_off;
    if (of_given >= kMostNews) {
      return Error{Code::resource_exhausted,
                   concat(call, ": the caller has not been told of ", of_given)};
    }
  }
  const std::uint64_t number = ++last_;
  Record& record = parcels_[number] = {.id = head.id,
                                       .turn = head.turn,
                                       .given_turn = head.turn,
                                       .role = role,
                                       .state = state,
                                       .giver = giver,
                                       .from = members_.at(giver).role,
                                       .carried = members_.at(giver).courier.has_value(),
                                       .continues = taken_as(giver, head.id)};
  Turns& turns = turns_[head.id];
  turns.highest = head.turn;
  ended_ids_.erase(std::exchange(turns.ended, 0));
  record.needs_room = state == ParcelState::reserved;
  if (record.needs_room) record.receiver = host_of(record);
  if (record.receiver != 0) {
    record.state = ParcelState::open;
    record.lodges = true;
  }
  turns.numbers.insert(number);
  fence(number);
  return number;
}

Result<std::uint64_t> ParcelBook::reserve(MemberNumber giver, const std::string& role,
                                          const ParcelHead& head, std::uint64_t since) {
  AQUA_ASSIGN(const std::uint64_t number,
              begin("reserve", giver, role, head, ParcelState::reserved));
  Record& record = parcels_.at(number);
  if (since != 0) record.given_turn = since;
  if (record.state == ParcelState::reserved && !promise(number)) {
    reserved_[{role, record.from}].insert(number);
  }
  return number;
}

Result<std::uint64_t> ParcelBook::open(MemberNumber giver, const std::string& role,
                                       const ParcelHead& head) {
  return begin("open", giver, role, head, ParcelState::open);
}

Result<std::uint64_t> ParcelBook::resume(MemberNumber giver, const std::string& id,
                                         std::uint64_t since) {
  AQUA_TRY(check_member("resume", giver));
  const auto known = turns_.find(id);
  if (known == turns_.end() || known->second.closed < std::max<std::uint64_t>(since, 1)) {
    return std::uint64_t{0};
  }
  for (const std::uint64_t number : known->second.numbers) {
    Record& record = parcels_.at(number);
    const bool has_news = record.state == ParcelState::closed || record.state == ParcelState::taken;
    if (!has_news || record.given_turn != since || record.replaced) continue;
    if (record.superseded) {
      return Error{Code::aborted, concat("resume: ", id, ": a higher turn is being given")};
    }
    if (record.giver != giver && is_member(record.giver)) {
      return wrong_state("resume: the giver of parcel ", number, " is still there");
    }
    record.giver = giver;
    return number;
  }
  if (known->second.closed > since) {
    return Error{Code::cancelled,
                 concat("resume: ", id, ": a higher turn than ", since, " was closed")};
  }
  return Error{Code::already_exists, concat("resume: ", id, " was closed under turn ",
                                            known->second.closed, ", and has arrived")};
}

Result<void> ParcelBook::close(MemberNumber giver, std::uint64_t number, std::uint32_t tokens,
                               std::string note) {
  AQUA_ASSIGN(Record* const record, given("close", giver, number));
  if (record->state != ParcelState::open) {
    return wrong_state("close: parcel ", number, " is not open");
  }
  record->state = ParcelState::closed;
  record->tokens = tokens;
  record->note = std::move(note);
  note_bytes_ += record->note.size();
  const std::string id = record->id;
  std::uint64_t& closed = turns_.at(id).closed;
  closed = std::max(closed, record->given_turn);
  if (const std::uint64_t before = record->continues; before != 0) {
    tell_giver(parcels_.at(before), before, ParcelEvent::confirmed);  // who hands it on has all
    pay_room(parcels_.at(before));
    end_parcel(before);
  }
  const auto others = turns_.at(id).numbers;
  for (const std::uint64_t other : others) {
    Record& lower = parcels_.at(other);
    if (other == number) continue;
    tell_giver(lower, other, ParcelEvent::superseded);
    if (is_taken(lower.state)) {
      lower.replaced = true;
    } else {
      end_parcel(other);
    }
  }
  queue(id);
  return {};
}

Result<void> ParcelBook::recall(MemberNumber giver, std::uint64_t number) {
  AQUA_ASSIGN(const Record* const record, given("recall", giver, number));
  if (record->was_taken) return wrong_state("recall: parcel ", number, " is taken, or was");
  if (!record->carried) tell_cut_off(number);
  end_parcel(number);
  return {};
}

Result<std::uint64_t> ParcelBook::accept(MemberNumber member) {
  AQUA_TRY(check_member("accept", member));
  const std::uint64_t number = next_for(member);
  if (number == 0) return Error{Code::not_found, "accept: no parcel waits for the caller"};
  Record& record = parcels_.at(number);
  unqueue(number);
  record.state = ParcelState::taken;
  if (record.receiver == 0) record.lodges = record.needs_room;  // nobody has promised room for it
  record.was_taken = true;
  record.receiver = 0;
  record.taker = member;
  if (const auto& courier = members_.at(member).courier) record.peer = courier->peer;
  record.turn = ++turns_.at(record.id).highest;
  return number;
}

Result<std::uint64_t> ParcelBook::renew(MemberNumber taker, std::uint64_t number,
                                        std::uint64_t above) {
  AQUA_ASSIGN(Record* const record, taken("renew", taker, number));
  if (record->superseded) {
    return Error{Code::aborted, concat("renew: ", record->id, ": a higher turn has been seen")};
  }
  std::uint64_t& highest = turns_.at(record->id).highest;
  if (std::max(highest, above) >= kMostTurn) {
    return Error{Code::invalid_argument,
                 concat("renew: ", record->id, ": no turn above ", std::max(highest, above),
                        ", of at most ", kMostTurn)};
  }
  return record->turn = highest = std::max(highest, above) + 1;
}

Result<void> ParcelBook::confirm(MemberNumber taker, std::uint64_t number) {
  AQUA_ASSIGN(Record* const record, taken("confirm", taker, number));
  if (record->superseded) {
    return Error{Code::aborted, concat("confirm: ", record->id, ": a higher turn has been seen")};
  }
  record->state = ParcelState::confirmed;
  tell_giver(*record, number, ParcelEvent::confirmed);
  return {};
}

Result<void> ParcelBook::finish(MemberNumber taker, std::uint64_t number, ParcelEvent what) {
  AQUA_ASSIGN(Record* const record, taken("finish", taker, number));
  if (!record->superseded) tell_giver(*record, number, what);
  pay_room(*record);
  leave(number, /*done=*/!record->superseded);
  return {};
}

Result<void> ParcelBook::cancel(const std::string& id, std::uint64_t up_to) {
  const auto known = turns_.find(id);
  bool any = false, is_with_a_taker = false;
  if (known != turns_.end()) {
    const auto numbers = known->second.numbers;
    for (const std::uint64_t number : numbers) {
      Record& record = parcels_.at(number);
      if (record.given_turn > up_to) continue;
      if (is_taken(record.state)) {
        // A replaced one waits here no more, but may come where a courier carries it.
        const auto taker = members_.find(record.taker);
        const bool is_carried = taker != members_.end() && taker->second.courier.has_value();
        is_with_a_taker |= !record.replaced || is_carried;
        continue;
      }
      tell_giver(record, number, ParcelEvent::cancelled);
      tell_cut_off(number);
      end_parcel(number);
      any = true;
    }
  }
  if (any) return {};
  if (is_with_a_taker) {
    return wrong_state("cancel: the parcel of '", id.substr(0, 40),
                       "' is taken, and waits again if its taker ends");
  }
  return Error{Code::not_found, concat("cancel: no parcel of '", id.substr(0, 40), "' waits")};
}

void ParcelBook::gone(MemberNumber member) {
  const auto found = members_.find(member);
  if (found == members_.end() || found->second.gone) return;
  found->second.gone = true;
  found->second.room.clear();
  news_.erase(member);
  found->second.cut_off = 0;
  std::vector<std::uint64_t> unfilled;
  for (auto& [number, record] : parcels_) {
    if (record.receiver == member) {
      unqueue(number);
      record.receiver = 0;
      record.lodges = false;
      queue(record.id);
    }
    const bool is_open = record.state == ParcelState::open || record.state == ParcelState::reserved;
    if (is_open && record.giver == member) unfilled.push_back(number);
  }
  // All are told before one ends, whose room would be promised to another of these.
  for (const std::uint64_t number : unfilled) {
    if (!parcels_.at(number).carried) tell_cut_off(number);
  }
  for (const std::uint64_t number : unfilled) end_parcel(number);
}

void ParcelBook::end(MemberNumber member) {
  if (!members_.contains(member)) return;
  gone(member);
  members_.erase(member);
  for (const std::uint64_t number : taken_by(member)) leave(number, /*done=*/false);
  for (auto& [number, record] : parcels_) {
    if (record.giver == member) record.giver = 0;
  }
}

}  // namespace aqua
