// SPDX-License-Identifier: Apache-2.0
// MirrorPlan says what another server's keeper lacks of what this one's keeps, and what it has that
// is needed no more.
//
// What is gone here is forgotten there only where it is known to have been dropped: it was kept by
// the keeper that runs now. Copies of what an earlier keeper kept stay, since that one may have
// ended with its server, which is what they are for.
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
  // Of the keeper that runs here now.
  explicit MirrorPlan(std::uint64_t keeper) : keeper_(keeper) {}

  // The other side has these. Of another connection: all that it has begins anew with restart().
  void restart() {
    held_.clear();
    put_off_.clear();
  }
  void held(const std::vector<Original>& some) { held_.insert(some.begin(), some.end()); }
  // What our keeper keeps now: of it what goes with no parcel, and is no copy itself.
  void kept(const std::vector<SegmentStatus>& rows);

  // What is to be said next; nullopt: nothing, until something changes. A Forget is done once it
  // was said. A segment is next until it has landed or is put off, and is gone from here before
  // that.
  using Next = std::variant<Forget, SegmentName>;
  [[nodiscard]] std::optional<Next> next();
  void landed(const SegmentName& name) { held_.insert(original_of(name)); }
  // The other side does not take it now. Others are next, until retry().
  void put_off(const SegmentName& name) { put_off_.insert(name.number); }
  void retry() { put_off_.clear(); }

  [[nodiscard]] Original original_of(const SegmentName& name) const {
    return {keeper_, name.number, name.generation};
  }
  // Segments that the other side lacks, and their bytes.
  [[nodiscard]] SegmentSum behind() const;

 private:
  [[nodiscard]] bool lacks(const SegmentName& name) const {
    return !held_.contains(original_of(name));
  }

  std::uint64_t keeper_;
  std::map<std::uint64_t, SegmentName> kept_;  // by number, the oldest first
  std::set<Original> held_;
  std::set<std::uint64_t> put_off_;
};

}  // namespace aqua::courier
