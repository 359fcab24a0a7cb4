// SPDX-License-Identifier: Apache-2.0
// What one call does to other parcels.
#include <algorithm>
#include <utility>

#include "parcel/parcel_book.hpp"

namespace aqua {

// A new turn has been seen: that of parcel `by`, which is the highest.
void ParcelBook::fence(std::uint64_t by) {
  const Record& newest = parcels_.at(by);
  const std::string id = newest.id;
  const auto numbers = turns_.at(id).numbers;
  for (const std::uint64_t number : numbers) {
    if (number == by || number == newest.continues) continue;
    Record& record = parcels_.at(number);
    switch (record.state) {
      case ParcelState::reserved:
      case ParcelState::open:
        tell_giver(record, number, ParcelEvent::superseded);
        end_parcel(number);
        break;
      case ParcelState::closed:
        break;  // held back by queue()
      case ParcelState::taken:
      case ParcelState::confirmed:
        if (!std::exchange(record.superseded, true)) {
          tell(record.taker, {.number = number, .event = ParcelEvent::taken_superseded});
        }
        break;
    }
  }
  queue(id);
}

// Has whoever of its role has most room for it receive it. False: nobody has any.
bool ParcelBook::promise(std::uint64_t number) {
  Record& record = parcels_.at(number);
  std::int64_t* most = nullptr;
  for (auto& [member, known] : members_) {
    if (known.role != record.role || !may_take(known, record)) continue;
    const auto room = known.room.find(record.from);
    if (room == known.room.end() || room->second <= 0) continue;
    if (most != nullptr && room->second <= *most) continue;
    most = &room->second;
    record.receiver = member;
  }
  if (most == nullptr) return false;
  --*most;
  record.state = ParcelState::open;
  return true;
}

MemberNumber ParcelBook::host_of(const Record& record) const {
  for (const std::uint64_t number : turns_.at(record.id).numbers) {
    const Record& earlier = parcels_.at(number);
    if (!earlier.needs_room || earlier.role != record.role || earlier.from != record.from) continue;
    const MemberNumber host = earlier.taker != 0 ? earlier.taker : earlier.receiver;
    if (host == record.giver || !is_member(host)) continue;
    if (may_take(members_.at(host), record)) return host;
  }
  return 0;
}

void ParcelBook::leave_room(const Record& record) {
  if (record.lodges || !is_member(record.receiver)) return;
  for (const std::uint64_t number : turns_.at(record.id).numbers) {
    Record& other = parcels_.at(number);
    if (!other.lodges || other.receiver != record.receiver) continue;
    other.lodges = false;
    return;
  }
  ++members_.at(record.receiver).room[record.from];
  open_reserved({record.role, record.from});
}

void ParcelBook::pay_room(Record& record) {
  Record* lodger = record.lodges ? &record : nullptr;
  for (const std::uint64_t number : turns_.at(record.id).numbers) {
    Record& other = parcels_.at(number);
    const bool there = other.receiver == record.taker || other.taker == record.taker;
    if (lodger == nullptr && record.needs_room && other.lodges && there) lodger = &other;
  }
  if (lodger == nullptr) return;
  lodger->lodges = false;
  if (is_member(record.taker)) --members_.at(record.taker).room[lodger->from];
}

void ParcelBook::open_reserved(const Roles& roles) {
  const auto waiting = reserved_.find(roles);
  if (waiting == reserved_.end()) return;
  std::set<std::uint64_t>& numbers = waiting->second;
  while (!numbers.empty() && promise(*numbers.begin())) {
    const std::uint64_t number = *numbers.begin();
    numbers.erase(numbers.begin());
    tell(parcels_.at(number).giver, {.number = number, .event = ParcelEvent::opened});
  }
  if (numbers.empty()) reserved_.erase(waiting);
}

// Its taker has it no more.
void ParcelBook::leave(std::uint64_t number, bool done) {
  Record& record = parcels_.at(number);
  if (done || record.replaced) {
    end_parcel(number);
    return;
  }
  record.state = ParcelState::closed;
  record.taker = 0;
  record.lodges = false;
  record.superseded = false;
  queue(record.id);
}

void ParcelBook::end_parcel(std::uint64_t number) {
  unqueue(number);
  const Record record = parcels_.at(number);
  note_bytes_ -= record.note.size();
  parcels_.erase(number);
  ended_.push_back(number);
  if (const auto reserved = reserved_.find({record.role, record.from});
      reserved != reserved_.end()) {
    reserved->second.erase(number);
    if (reserved->second.empty()) reserved_.erase(reserved);
  }
  Turns& turns = turns_.at(record.id);
  turns.numbers.erase(number);
  leave_room(record);
  for (const std::uint64_t other : turns.numbers) {
    if (parcels_.at(other).continues == number) parcels_.at(other).continues = 0;
  }
  if (turns.numbers.empty()) {
    turns.ended = ++last_ended_;
    ended_ids_[turns.ended] = record.id;
    if (ended_ids_.size() > kMostEndedIds) {
      turns_.erase(ended_ids_.extract(ended_ids_.begin()).mapped());
    }
  } else {
    queue(record.id);
  }
}

void ParcelBook::unqueue(std::uint64_t number) {
  const Record& record = parcels_.at(number);
  const auto erase = [&](auto& queues, const auto& key) {
    const auto queue = queues.find(key);
    if (queue == queues.end()) return;
    queue->second.erase(number);
    if (queue->second.empty()) queues.erase(queue);
  };
  erase(of_role_, record.role);
  erase(of_receiver_, record.receiver);
  erase(of_peer_, std::pair(record.role, record.peer));
}

void ParcelBook::queue(const std::string& id) {
  const std::set<std::uint64_t>& numbers = turns_.at(id).numbers;
  for (const std::uint64_t number : numbers) {
    const Record& record = parcels_.at(number);
    unqueue(number);
    const bool held = std::any_of(numbers.begin(), numbers.end(), [&](std::uint64_t other) {
      const Record& higher = parcels_.at(other);
      return higher.turn > record.turn &&
             (higher.state == ParcelState::reserved || higher.state == ParcelState::open);
    });
    if (record.state != ParcelState::closed || held) continue;
    if (record.receiver != 0) {
      of_receiver_[record.receiver].insert(number);
    } else if (!record.peer.empty()) {
      of_peer_[{record.role, record.peer}].insert(number);
    } else {
      of_role_[record.role].insert(number);
    }
  }
}

std::uint64_t ParcelBook::next_for(MemberNumber member) const {
  if (!is_member(member)) return 0;
  const Member& known = members_.at(member);
  std::uint64_t next = 0;
  const auto look_into = [&](const auto& queues, const auto& key) {
    const auto queue = queues.find(key);
    if (queue == queues.end()) return;
    const auto first = std::ranges::find_if(
        queue->second, [&](std::uint64_t number) { return may_take(known, parcels_.at(number)); });
    if (first != queue->second.end() && (next == 0 || *first < next)) next = *first;
  };
  look_into(of_receiver_, member);
  look_into(of_role_, known.role);
  if (known.courier) look_into(of_peer_, std::pair(known.role, known.courier->peer));
  return next;
}

std::vector<std::uint64_t> ParcelBook::take_ended() {
  return std::exchange(ended_, {});
}

const ParcelBook::Record* ParcelBook::find(std::uint64_t number) const {
  const auto found = parcels_.find(number);
  return found == parcels_.end() ? nullptr : &found->second;
}

std::uint64_t ParcelBook::highest_turn(const std::string& id) const {
  const auto known = turns_.find(id);
  return known == turns_.end() ? 0 : known->second.highest;
}

bool ParcelBook::is_being_given(const std::string& id) const {
  const auto known = turns_.find(id);
  if (known == turns_.end()) return false;
  const auto& numbers = known->second.numbers;
  return std::any_of(numbers.begin(), numbers.end(), [&](std::uint64_t number) {
    const ParcelState state = parcels_.at(number).state;
    return state == ParcelState::reserved || state == ParcelState::open;
  });
}

std::uint64_t ParcelBook::taken_as(MemberNumber member, const std::string& id) const {
  const auto known = turns_.find(id);
  if (known == turns_.end()) return 0;
  const auto& numbers = known->second.numbers;
  const auto found = std::find_if(numbers.begin(), numbers.end(), [&](std::uint64_t number) {
    return parcels_.at(number).taker == member;
  });
  return found == numbers.end() ? 0 : *found;
}

std::vector<std::uint64_t> ParcelBook::numbers(std::uint64_t after, std::size_t most) const {
  std::vector<std::uint64_t> numbers;
  for (auto at = parcels_.upper_bound(after); at != parcels_.end() && numbers.size() < most; ++at) {
    numbers.push_back(at->first);
  }
  return numbers;
}

std::vector<std::uint64_t> ParcelBook::taken_by(MemberNumber member) const {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, record] : parcels_) {
    if (record.taker == member) numbers.push_back(number);
  }
  return numbers;
}

bool ParcelBook::is_member(MemberNumber member) const {
  const auto found = members_.find(member);
  return found != members_.end() && !found->second.gone;
}

const std::string* ParcelBook::role_of(MemberNumber member) const {
  const auto found = members_.find(member);
  return found == members_.end() ? nullptr : &found->second.role;
}

std::vector<MemberNumber> ParcelBook::members_of(const std::string& role) const {
  std::vector<MemberNumber> numbers;
  for (const auto& [number, member] : members_) {
    if (member.role == role) numbers.push_back(number);
  }
  return numbers;
}

std::vector<std::uint64_t> ParcelBook::had_by_role(const std::string& role) const {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, record] : parcels_) {
    if (record.state == ParcelState::reserved || record.state == ParcelState::open) continue;
    const std::string* const of = role_of(record.taker != 0 ? record.taker : record.giver);
    if (of != nullptr && *of == role) numbers.push_back(number);
  }
  return numbers;
}

std::size_t ParcelBook::waiting() const {
  return static_cast<std::size_t>(
      std::count_if(parcels_.begin(), parcels_.end(),
                    [](const auto& parcel) { return parcel.second.state == ParcelState::closed; }));
}

std::size_t ParcelBook::waiting_for(MemberNumber member) const {
  if (!is_member(member)) return 0;
  const Member& known = members_.at(member);
  std::size_t waiting = 0;
  const auto count = [&](const auto& queues, const auto& key) {
    const auto queue = queues.find(key);
    if (queue == queues.end()) return;
    const auto may = [&](std::uint64_t number) { return may_take(known, parcels_.at(number)); };
    const auto size = static_cast<std::ptrdiff_t>(queue->second.size());
    waiting +=
        static_cast<std::size_t>(known.courier ? std::ranges::count_if(queue->second, may) : size);
  };
  count(of_receiver_, member);
  count(of_role_, known.role);
  if (known.courier) count(of_peer_, std::pair(known.role, known.courier->peer));
  return waiting;
}

}  // namespace aqua
