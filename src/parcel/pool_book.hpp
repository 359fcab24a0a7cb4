// SPDX-License-Identifier: Apache-2.0
// PoolBook is the keeper's record of one KV pool: which member has which block, and which parcels
// are on their way.
//
//   free --grant()--> owned --offer()--> offered --accept()--> taken --finish()--> free
//    ^                 |  ^--offer()----------------------------|
//    |--give_back()----|  |
//    |                 |--share()--> shared, by any number of members and parcels
//    '------- the last of them lets go ----'
//
// A block is free, in the sole hands of a member or of a parcel, or shared. Who has it shared reads
// it alone, so that it can be in several parcels. A taken parcel keeps its blocks until its taker
// finishes it: when the taker's end is proven, it is offered again.
//
// Nothing that a member has is anybody else's before that member has let go of it or its end is
// proven: a connection that closed proves nothing (gone()), the process behind it may write on.
// What it has is orphaned until end().
//
// Threads: none of its own; the keeper calls it on one. Pure: no I/O, no clock.
// Errors:  a call that fails changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "aqua/handoff/parcel.hpp"
#include "aqua/layout.hpp"
#include "aqua/result.hpp"

namespace aqua {

// A connection to the keeper that attached to the pool.
using MemberNumber = std::uint64_t;
using Blocks = std::vector<std::uint32_t>;

struct PoolCounts {
  std::uint32_t free = 0;
  std::uint32_t owned = 0;     // by members that are there, alone; also those of taken parcels
  std::uint32_t offered = 0;   // in parcels that nobody has taken
  std::uint32_t shared = 0;    // however many have them
  std::uint32_t orphaned = 0;  // by members that are gone and whose end is not proven
  friend bool operator==(const PoolCounts&, const PoolCounts&) = default;
};

// invalid_argument: not 1 to 128 bytes of printable ASCII.
[[nodiscard]] Result<void> check_role(const char* call, const std::string& role);
// invalid_argument: an id or a note that cannot be.
[[nodiscard]] Result<void> check_parcel(const char* call, const Parcel& parcel);
// invalid_argument: a block that is not below `of`, or is named twice.
[[nodiscard]] Result<void> check_blocks(const char* call, BlockList blocks, std::size_t of);

class PoolBook {
 public:
  static constexpr std::size_t kMostParcels = 1 << 16;
  static constexpr std::size_t kLongestId = 256;     // bytes
  static constexpr std::size_t kLongestNote = 4096;  // bytes

  explicit PoolBook(std::uint32_t blocks) : all_(blocks) {}

  // already_exists: it is a member.
  [[nodiscard]] Result<void> join(MemberNumber member, const std::string& role);
  // Up to `most` free blocks are the member's from now on, the lowest first; none is no error.
  [[nodiscard]] Result<Blocks> grant(MemberNumber member, std::uint32_t most);
  // The member lets go of blocks: of its own, which are free then, and of shared ones. Those of a
  // taken parcel go by finish(): failed_precondition.
  [[nodiscard]] Result<void> give_back(MemberNumber member, const Blocks& blocks);
  // Blocks of its own are shared from now on: it has them as before, to be read. Of blocks that are
  // shared already, or in parcels that it has taken, it has each once more then, by itself.
  [[nodiscard]] Result<void> share(MemberNumber member, const Blocks& blocks);

  // Hands a parcel to whoever has that role, now or later. Answers its number. Its blocks are the
  // member's own, shared ones that it has by itself, or those of the parcel of the same id that it
  // has taken, which ends by this: what is not carried over is let go of. A parcel of the same id
  // that waits is superseded: its blocks are let go of.
  //   aborted              one of the same id has a turn that is as high
  //   resource_exhausted   as many parcels as may be
  [[nodiscard]] Result<std::uint64_t> offer(MemberNumber member, const std::string& role,
                                            Parcel parcel);
  // Parcels for the member's role that nobody has taken, the oldest first. They are its own then.
  [[nodiscard]] Result<std::vector<Parcel>> accept(MemberNumber member, std::size_t most);
  // What accept() would answer with next; nullptr: nothing.
  [[nodiscard]] const Parcel* next_for(MemberNumber member) const;
  // Ends a parcel that the member has taken, and lets go of its blocks.
  [[nodiscard]] Result<void> finish(MemberNumber member, std::uint64_t number);
  // Ends the parcel of this id that waits, whoever gave it. not_found: there is none; what has been
  // taken is its taker's.
  [[nodiscard]] Result<void> cancel(const std::string& id);

  // The connection of a member has closed. What it has is orphaned. (Not known: nothing.)
  void gone(MemberNumber member);
  // A member has unmapped the pool, or its process is proven to have ended. Its blocks are let go
  // of, and what it had taken waits again, but for what was superseded. (Not known: nothing.)
  void end(MemberNumber member);

  // Whether a member has a block, or has taken a parcel. Looks at every block.
  [[nodiscard]] bool has_any(MemberNumber member) const;
  [[nodiscard]] std::uint32_t blocks() const { return static_cast<std::uint32_t>(all_.size()); }
  [[nodiscard]] std::uint32_t free_blocks() const {
    return static_cast<std::uint32_t>(all_.size() - untouched_ + free_.size());
  }
  [[nodiscard]] PoolCounts counts() const;    // looks at every block
  [[nodiscard]] std::size_t waiting() const;  // parcels that nobody has taken
  [[nodiscard]] std::size_t waiting(const std::string& role) const;
  friend bool operator==(const PoolBook&, const PoolBook&) = default;

 private:
  // Who has a block alone: a member, or a parcel, waiting or taken. Or those in sharers_ have it.
  struct Holder {
    enum class Kind : std::uint8_t { nobody, member, parcel, sharers } kind = Kind::nobody;
    std::uint64_t number = 0;
    friend auto operator<=>(const Holder&, const Holder&) = default;
  };
  struct Member {
    std::string role{};
    bool gone = false;
    friend bool operator==(const Member&, const Member&) = default;
  };
  struct Kept {
    Parcel parcel{};
    std::string role{};
    MemberNumber taker = 0;  // 0: it waits
    bool superseded = false;
    friend bool operator==(const Kept&, const Kept&) = default;
  };

  static Holder of_member(MemberNumber number) { return {Holder::Kind::member, number}; }
  static Holder of_parcel(std::uint64_t number) { return {Holder::Kind::parcel, number}; }

  [[nodiscard]] Result<void> check_member(const char* call, MemberNumber member) const;
  [[nodiscard]] bool has_taken(MemberNumber member, Holder holder) const;
  // Whether a shared block is one that the member has, by itself or in a parcel that it has taken.
  [[nodiscard]] bool shares(MemberNumber member, std::uint32_t block) const;
  // Of the same id, but for what is superseded.
  [[nodiscard]] std::vector<std::uint64_t> namesakes(const std::string& id) const;
  // The parcel of this id that the member has taken; 0: none.
  [[nodiscard]] std::uint64_t taken_as(MemberNumber member, const std::string& id) const;
  [[nodiscard]] Result<void> check_offer(MemberNumber member, const Parcel& parcel) const;

  void let_go(std::uint32_t block, Holder holder);
  void stop_waiting(const Kept& kept);
  void end_parcel(std::uint64_t number);

  std::vector<Holder> all_;
  // How many times each has a shared block.
  std::map<std::uint32_t, std::map<Holder, std::uint32_t>> sharers_;
  std::uint32_t untouched_ = 0;   // from here on no block has ever been granted
  std::set<std::uint32_t> free_;  // below that
  std::map<MemberNumber, Member> members_;
  std::map<std::uint64_t, Kept> parcels_;
  std::multimap<std::string, std::uint64_t> by_id_;         // of parcels_
  std::map<std::string, std::set<std::uint64_t>> waiting_;  // by role, of parcels_
  std::uint64_t last_ = 0;
};

}  // namespace aqua
