// SPDX-License-Identifier: Apache-2.0
// MirrorPlan says what another server's keeper lacks of what this one's keeps, and what it has that
// is needed no more.
//
// What is lacking goes before what is forgotten: the one may be what several others were merged
// into.
//
// What is gone here is forgotten there where the keeper that runs now had it. Copies of what the
// keeper before had stay: that one may have ended with its server, which is what they are for.
// Those of keepers before that are forgotten once there are copies of what this one keeps, or there
// is no room for one.
//
// A keeper that has found segments on its disk keeps them under the names that an earlier one gave
// them: keepers draw their numbers, so that no other segment has such a name. Their copies are good
// still, and go with them; where there is one under this keeper's own name as well, before that.
//
// Threads: none of its own. Pure: no I/O, no clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "aqua/handoff/segment.hpp"
#include "tools/courier/wire/messages.hpp"

namespace aqua::courier {

class MirrorPlan {
 public:
  // Plans for the keeper that runs here now.
  explicit MirrorPlan(std::uint64_t keeper) : keeper_(keeper) {}

  // There is another connection: what the other side has, it says anew.
  void restart();
  void held(const std::vector<Original>& some) {
    held_.insert(some.begin(), some.end());
    note_found();
  }
  // What our keeper keeps now: of it what goes with no parcel, and is no copy itself.
  void kept(const std::vector<SegmentStatus>& rows);

  // What is to be said next; nullopt: nothing, until something changes. A Forget counts as said. A
  // segment, the one that is known for longest, is next until it has landed, is refused, or is gone
  // from here.
  using Next = std::variant<Forget, SegmentName>;
  [[nodiscard]] std::optional<Next> next();
  void landed(const SegmentName& name) { held_.insert(original_of(name)); }
  // The other side has no room for it: nothing more is lacking until retry(), which begins with
  // another one.
  void no_room_for(const SegmentName& name);
  void retry() { full_ = false; }
  // It cannot be copied, whenever that is tried.
  void give_up(const SegmentName& name) { hopeless_.insert(original_of(name)); }

  [[nodiscard]] Original original_of(const SegmentName& name) const {
    return {keeper_, name.number, name.generation};
  }
  // Segments that the other side lacks, and their bytes.
  [[nodiscard]] SegmentSum behind() const;

 private:
  using Name = std::pair<std::uint64_t, std::uint64_t>;  // number and generation
  static Name name_of(const Original& original) { return {original.number, original.generation}; }
  [[nodiscard]] bool is_kept(const Name& name) const {
    return seen_.contains({keeper_, name.first, name.second});
  }
  [[nodiscard]] bool lacks(const SegmentName& name) const {
    return !held_.contains(original_of(name)) &&
           !held_found_.contains({name.number, name.generation});
  }
  // Takes in which copies of earlier keepers' segments are of what this one keeps.
  void note_found();
  // nullopt: none.
  [[nodiscard]] std::optional<SegmentName> lacking();
  [[nodiscard]] std::optional<Original> needless() const;

  std::uint64_t keeper_;
  std::map<std::uint64_t, SegmentName> kept_;  // by when they were first seen
  std::map<Original, std::uint64_t> seen_;     // when that was, of these
  std::uint64_t last_seen_ = 0;
  std::set<Original> held_;
  std::set<Name> found_;        // what this keeper keeps or kept, and was held as an earlier one's
  std::set<Name> held_found_;   // of these, what is held now
  std::set<Original> refused_;  // since there was no room, until all have been tried
  std::set<Original> hopeless_;
  bool full_ = false;
};

}  // namespace aqua::courier
