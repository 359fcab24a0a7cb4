// SPDX-License-Identifier: Apache-2.0
// ParcelBook is the keeper's record of parcels: which there are, in which state, whose they are and
// under which turns. Where their bytes lie is another's record (BlockBook). docs/engine/handover.md
// has the table of states and calls.
//
// Turns fence. The highest turn of an id is remembered, also when no parcel of it is left. To open
// or reserve takes a higher one, and to take a parcel makes one, so that of all who ever spoke for
// a request only one does so under the highest turn. A parcel of a lower turn than the highest is
//   - ended, if it is reserved or open: it could not be closed any more
//   - held back from takers, if it is closed, until the higher one is closed, which ends it, or has
//     ended unclosed, which lets it be taken again: what was complete is not lost
//   - superseded, if it is taken: its taker is told, and may only finish it
//
// Room is promised before anything is filled: a receiver says of each role that gives how many
// parcels it has room for, so that givers which run ahead take nobody's place. Each that it takes
// has used up one, and it says so anew once it has finished it. Two kinds lodge, using up none as
// long as they do: a parcel of a higher turn, which has the room of an earlier one of its id and
// between the same roles until its receiver is done with that; and what a receiver that has died
// had promised room for, wherever it is taken. What still lodges when it is finished uses up one
// then, so that its taker can say so anew.
//
// Who was to get a parcel that ends before it is complete, or is taken back, is told so: who has
// promised room for it, else all of its role. One that a higher turn ends is not cut off by that,
// nor what a courier carries by the end of that courier: it is carried again.
//
// Threads: none of its own; the keeper calls it on one. Pure: no I/O, no clock.
// Errors:  a call that fails changes nothing. not_found: the caller is no member, or has no such
//          parcel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aqua/handoff/parcel.hpp"
#include "aqua/result.hpp"

namespace aqua {

// A connection to the keeper that hands over or takes.
using MemberNumber = std::uint64_t;

// What a giver or a taker is told of a parcel, once.
enum class ParcelEvent : std::uint8_t {
  opened,            // giver: there is room for what it had reserved
  confirmed,         // giver: the taker has all bytes
  superseded,        // giver: a higher turn of the id counts
  cancelled,         // giver: by name, before it was taken
  taken_superseded,  // taker: a higher turn of the id counts
  cut_off,           // who was to take it: it does not come under this turn
  declined,          // giver: its taker has no use for it
};
// Whether it is the last that a giver hears of a parcel.
[[nodiscard]] constexpr bool is_an_end(ParcelEvent event) {
  return event == ParcelEvent::confirmed || event == ParcelEvent::superseded ||
         event == ParcelEvent::cancelled || event == ParcelEvent::declined;
}
struct ParcelNews {
  std::uint64_t number = 0;
  ParcelEvent event = ParcelEvent::opened;
  ParcelHead head{};  // of cut_off, whose hearer knows no number: its id and turn
  friend bool operator==(const ParcelNews&, const ParcelNews&) = default;
};

// invalid_argument: not 1 to 128 bytes of printable ASCII.
[[nodiscard]] Result<void> check_role(const char* call, const std::string& role);
// invalid_argument: a role that cannot be, or room for more than ParcelBook::kMostParcels.
[[nodiscard]] Result<void> check_room(const std::string& from, std::uint64_t parcels);
// invalid_argument: an id that cannot be.
[[nodiscard]] Result<void> check_id(const char* call, const std::string& id);
// invalid_argument: an id or a note that cannot be.
[[nodiscard]] Result<void> check_parcel(const char* call, const Parcel& parcel);

class ParcelBook {
 public:
  static constexpr std::size_t kMostParcels = 1 << 16;
  static constexpr std::size_t kMostEndedIds = 1 << 16;  // whose turns are remembered
  static constexpr std::size_t kMostNews = 1 << 16;      // that a giver has not been told
  static constexpr std::size_t kMostRoomRoles = 4096;    // of which one receiver has spoken
  static constexpr std::size_t kLongestId = 256;         // bytes
  static constexpr std::size_t kLongestNote = 4096;      // bytes

  struct Record {
    std::string id{};
    std::uint64_t turn = 0;
    // Under which its giver opened it, at the keeper where it began. Turns of those who carried it
    // here lie above that, and say nothing about which parcel it is.
    std::uint64_t given_turn = 0;
    std::string role{};
    ParcelState state = ParcelState::open;
    MemberNumber giver = 0;     // 0: it need not be told any more
    std::string from{};         // its giver's role
    bool needs_room = false;    // as it was reserved
    MemberNumber receiver = 0;  // who has promised room for it; 0: any of the role may take it
    bool lodges = false;        // it uses up no room of its own
    bool carried = false;       // from another keeper: no courier takes it to a further one
    // The courier's peer that may have it by now: nobody else is given it from here any more.
    std::string peer{};
    MemberNumber taker = 0;
    std::uint64_t continues = 0;  // the parcel of this id that the giver had taken; 0: none
    std::uint32_t tokens = 0;
    std::string note{};
    bool was_taken = false;   // by whoever has it, or by one who has it no more
    bool superseded = false;  // taken, and a higher turn has been seen
    bool replaced = false;    // taken, and a parcel of a higher turn was closed: it waits no more
    friend bool operator==(const Record&, const Record&) = default;
  };

  // already_exists: it is a member.
  [[nodiscard]] Result<void> join(MemberNumber member, const std::string& role);
  // As one who carries parcels between keepers.
  struct Courier {
    std::string takes_from{};  // a role, whose parcels it is given as far as they began here
    std::string peer{};        // where it takes them to; empty: it only gives
    friend bool operator==(const Courier&, const Courier&) = default;
  };
  [[nodiscard]] Result<void> join_courier(MemberNumber member, const std::string& role,
                                          const Courier& courier);
  // It has room for so many more parcels by whoever has the role `from`: what these have reserved
  // for its role is opened, the oldest first, with whoever has most room.
  //   invalid_argument     no role, or room for more than kMostParcels of its parcels in all
  //   resource_exhausted   it has spoken of kMostRoomRoles others
  [[nodiscard]] Result<void> admit(MemberNumber member, const std::string& from,
                                   std::uint32_t parcels);

  // Whether the giver may speak for this request under this turn.
  //   invalid_argument   it is above kMostTurn, where takes would not have room for theirs
  //   aborted            it is not higher than all of this id; or the caller has taken a parcel of
  //                      it that is superseded
  [[nodiscard]] Result<void> check_turn(MemberNumber giver, const ParcelHead& head) const;
  // A parcel for whoever has that role, open at once if a member of it has room, else reserved.
  //   invalid_argument     the role, the id or the turn
  //   aborted              as check_turn()
  //   resource_exhausted   as many parcels as may be, or the giver has not been told of so many
  // `since`: of one that is carried from another keeper, the turn under which it began there.
  [[nodiscard]] Result<std::uint64_t> reserve(MemberNumber giver, const std::string& role,
                                              const ParcelHead& head, std::uint64_t since = 0);
  // One that needs no room at its taker, and is open at once. Errors as reserve().
  [[nodiscard]] Result<std::uint64_t> open(MemberNumber giver, const std::string& role,
                                           const ParcelHead& head);
  // For who carries parcels from another keeper and does not know whether this one has arrived:
  // goes on with what was closed of this id that began under the turn `since` and has no other
  // giver any more; the caller hears its news from now on. 0: nothing was closed that began under
  // this or a higher one (under turn 0 nothing ever does); to be opened then.
  //   already_exists       it was, and needs no giver: a taker has all bytes, or it has ended
  //   cancelled            one that began under a higher turn was closed
  //   failed_precondition  its giver is a member still
  //   aborted              it is taken, and a higher turn is being given
  [[nodiscard]] Result<std::uint64_t> resume(MemberNumber giver, const std::string& id,
                                             std::uint64_t since);
  // It is complete. Ends the parcel that it continues, and what a higher turn ends.
  // failed_precondition: it is not open.
  [[nodiscard]] Result<void> close(MemberNumber giver, std::uint64_t number, std::uint32_t tokens,
                                   std::string note);
  // The giver has it back: it ends. failed_precondition: it is taken, or was: what a taker shared
  // is another's to read, and what one that is dead may still write is nobody's.
  [[nodiscard]] Result<void> recall(MemberNumber giver, std::uint64_t number);

  // The parcel that the member would be given next: those with room promised by it and those of its
  // role, the oldest first. 0: none.
  [[nodiscard]] std::uint64_t next_for(MemberNumber member) const;
  // It is the member's, who speaks under a new turn from now on. not_found: none waits for it.
  [[nodiscard]] Result<std::uint64_t> accept(MemberNumber member);
  // The taker speaks under a new turn from now on, above `above` as well: what it hands on
  // elsewhere is refused there under the one that it has.
  //   invalid_argument   the turn would be above kMostTurn
  //   aborted            it is superseded
  [[nodiscard]] Result<std::uint64_t> renew(MemberNumber taker, std::uint64_t number,
                                            std::uint64_t above);
  // The taker has all bytes. Saying so again changes nothing. aborted: it is superseded.
  [[nodiscard]] Result<void> confirm(MemberNumber taker, std::uint64_t number);
  // The taker's work on it has ended, and it does; its giver is told `what`, unless it has heard of
  // a confirmation. Where the taker is superseded and nothing of the higher turn is complete, it
  // waits for another one instead.
  [[nodiscard]] Result<void> finish(MemberNumber taker, std::uint64_t number,
                                    ParcelEvent what = ParcelEvent::confirmed);
  // For who carries parcels from another keeper, where this one was cut off before it was carried:
  // all of the role are told, unless what has come of this id was given under this turn or a higher
  // one.
  //   invalid_argument     the role, the id, or a turn under which nothing is given
  //   failed_precondition  the caller carries nothing
  [[nodiscard]] Result<void> tell_cut_off(MemberNumber courier, const std::string& role,
                                          const ParcelHead& head);
  // Ends what nobody has taken of this id, of what was given under this turn or a lower one.
  //   not_found            there is nothing
  //   failed_precondition  nothing but what is taken: its taker ends it, or it waits again
  [[nodiscard]] Result<void> cancel(const std::string& id, std::uint64_t up_to = kMostTurn);

  // The connection of a member has closed: nobody can close what it fills, nor be given what it has
  // promised room for. What it has taken stays its own. (Not known: nothing.)
  void gone(MemberNumber member);
  // Its end is proven: what it had taken waits again. (Not known: nothing.)
  void end(MemberNumber member);

  // What the member has not been told, the oldest first, as long as it fits. (Empty: all does.)
  using Fits = std::function<bool(const ParcelNews&)>;
  [[nodiscard]] std::vector<ParcelNews> take_news(MemberNumber member, const Fits& fits = {});
  [[nodiscard]] bool has_news(MemberNumber member) const { return news_.contains(member); }
  // Parcels that have ended since the last call, for whoever has their bytes.
  [[nodiscard]] std::vector<std::uint64_t> take_ended();
  // Numbers from now on are higher than this one.
  void number_after(std::uint64_t last) { last_ = std::max(last_, last); }
  [[nodiscard]] std::uint64_t last_number() const { return last_; }
  // Numbers of the parcels above `after`, the lowest first, at most so many.
  [[nodiscard]] std::vector<std::uint64_t> numbers(std::uint64_t after = 0,
                                                   std::size_t most = kMostParcels) const;
  // nullptr: there is no such parcel.
  [[nodiscard]] const Record* find(std::uint64_t number) const;
  // The highest turn of this id that has been seen; 0: none.
  [[nodiscard]] std::uint64_t highest_turn(const std::string& id) const;
  // Whether something of this id is being filled, or waits for room.
  [[nodiscard]] bool is_being_given(const std::string& id) const;
  // The parcel of this id that the member has taken; 0: none.
  [[nodiscard]] std::uint64_t taken_as(MemberNumber member, const std::string& id) const;
  [[nodiscard]] std::vector<std::uint64_t> taken_by(MemberNumber member) const;
  [[nodiscard]] bool is_member(MemberNumber member) const;  // and not gone
  // nullptr: it is not known.
  [[nodiscard]] const std::string* role_of(MemberNumber member) const;
  [[nodiscard]] std::vector<MemberNumber> members_of(const std::string& role) const;  // also gone
  // Complete parcels that members of the role have taken; or have given, and nobody has taken.
  [[nodiscard]] std::vector<std::uint64_t> had_by_role(const std::string& role) const;
  [[nodiscard]] bool knows(MemberNumber member) const { return members_.contains(member); }
  [[nodiscard]] std::size_t size() const { return parcels_.size(); }
  [[nodiscard]] std::uint64_t note_bytes() const { return note_bytes_; }  // of all notes together
  [[nodiscard]] std::size_t waiting() const;  // closed; also what is held back
  // That the member may take: of any of its role, and what it has promised room for itself.
  [[nodiscard]] std::size_t waiting_for(MemberNumber member) const;
  [[nodiscard]] std::size_t ended_ids() const { return ended_ids_.size(); }
  friend bool operator==(const ParcelBook&, const ParcelBook&) = default;

 private:
  // The roles of taker and giver.
  using Roles = std::pair<std::string, std::string>;
  struct Member {
    std::string role{};
    std::map<std::string, std::int64_t> room{};  // by the giver's role; below 0: owed
    bool gone = false;
    std::optional<Courier> courier{};
    std::size_t cut_off = 0;  // of its untold news
    friend bool operator==(const Member&, const Member&) = default;
  };
  struct Turns {
    std::uint64_t highest = 0;
    std::uint64_t closed = 0;           // the highest under which one began that was closed
    std::set<std::uint64_t> numbers{};  // of its parcels
    std::uint64_t ended = 0;            // when the last of them did, in ended_ids_
    friend bool operator==(const Turns&, const Turns&) = default;
  };

  [[nodiscard]] Result<void> check_member(const char* call, MemberNumber member) const;
  [[nodiscard]] Result<Record*> given(const char* call, MemberNumber giver, std::uint64_t number);
  [[nodiscard]] Result<Record*> taken(const char* call, MemberNumber taker, std::uint64_t number);
  [[nodiscard]] Result<std::uint64_t> begin(const char* call, MemberNumber giver,
                                            const std::string& role, const ParcelHead& head,
                                            ParcelState state);

  // Whether a member may take a parcel of its role: who carries parcels, not all; and what one has
  // had that carries them, only one to the same peer, which may have it.
  [[nodiscard]] static bool may_take(const Member& member, const Record& record) {
    if (!member.courier) return record.peer.empty();
    return !member.courier->peer.empty() && !record.carried &&
           record.from == member.courier->takes_from &&
           (record.peer.empty() || record.peer == member.courier->peer);
  }
  void fence(std::uint64_t by);
  void tell(MemberNumber member, const ParcelNews& news);
  void tell_giver(Record& record, std::uint64_t number, ParcelEvent event);
  // Those who were to get it.
  void tell_cut_off(std::uint64_t number);
  [[nodiscard]] bool promise(std::uint64_t number);
  // Who else has room for an earlier parcel of this id and between these roles; 0: nobody.
  [[nodiscard]] MemberNumber host_of(const Record& record) const;
  void open_reserved(const Roles& roles);
  // Gives back the room of a parcel that ends and was not taken: its receiver's is free again, or
  // that of the parcel which lodges there.
  void leave_room(const Record& record);
  // Pays for the room of a parcel that its taker is done with, who will say that it has room again:
  // what lodged there has used up room from now on.
  void pay_room(Record& record);
  void leave(std::uint64_t number, bool done);
  void end_parcel(std::uint64_t number);
  // Bring the queues of takers up to date: without this parcel, with what may be taken of this id.
  void unqueue(std::uint64_t number);
  void queue(const std::string& id);

  std::map<MemberNumber, Member> members_;
  std::map<std::uint64_t, Record> parcels_;
  std::map<std::string, Turns> turns_;
  std::map<std::uint64_t, std::string> ended_ids_;  // the oldest first
  // What may be taken: by role, where any of it may but for couriers, who may not take all of it;
  // and by who has promised room.
  std::map<std::string, std::set<std::uint64_t>> of_role_;
  std::map<MemberNumber, std::set<std::uint64_t>> of_receiver_;
  // By role and peer, where a courier to that peer has had it.
  std::map<std::pair<std::string, std::string>, std::set<std::uint64_t>> of_peer_;
  std::map<Roles, std::set<std::uint64_t>> reserved_;
  std::map<MemberNumber, std::vector<ParcelNews>> news_;
  std::vector<std::uint64_t> ended_;
  std::uint64_t last_ = 0, last_ended_ = 0;
  std::uint64_t note_bytes_ = 0;
};

}  // namespace aqua
