// SPDX-License-Identifier: Apache-2.0
// SegmentBook is the keeper's record of segments: host memory that a process fills and commits, and
// that outlives the process from then on.
//
//   reserve() -> reserved --commit()--> kept --drop()--> left, while somebody reads it
//                    ^                                     |
//                    '-- take_returned() -- returned <-----'  where its writer is still there;
//                                                             ended, where it is not
//
// Nobody but its writer ever writes a segment, and that one only while it is reserved: what is kept
// or read does not change. A segment never goes to another writer. When it has ended, its memory
// does too, and the next one gets new memory; so nothing of it has to be scrubbed, and whoever
// still has it mapped harms nobody.
//
// What is kept goes with the parcel that it was committed for, or, committed for none, when it is
// dropped by name. What is not kept goes with its writer.
//
// A reader that hung up without having ended is still a reader (gone()): it may be copying out of
// the segment, whose writer must not get it back meanwhile. A writer that hung up has lost what it
// had not committed, since nobody else gets that memory.
//
// Threads: none of its own; the keeper calls it on one. Pure: no I/O, no clock.
// Errors:  a call that fails changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "aqua/handoff/segment.hpp"
#include "aqua/result.hpp"

namespace aqua {

using SegmentNumber = std::uint64_t;
using SegmentNumbers = std::vector<SegmentNumber>;

// What bounds segments, ended ones no longer counted: the keeper itself counts their bytes until
// they are freed. Bytes count where they were reserved, also after the death of who reserved them.
struct SegmentQuota {
  std::uint64_t bytes = 0;  // of all
  std::uint64_t of_user = 0;
  std::uint64_t of_process = 0;
  std::size_t segments = 0;
  friend bool operator==(const SegmentQuota&, const SegmentQuota&) = default;
};

// Whose bytes a segment has: a user, and one of its processes.
struct SegmentOwner {
  std::uint32_t user = 0;
  std::uint64_t process = 0;  // tells a process from every other one, also from later ones
  friend bool operator==(const SegmentOwner&, const SegmentOwner&) = default;
};

struct SegmentCounts {
  std::uint64_t segments = 0, bytes = 0;
  std::uint64_t reserved = 0;  // or returned
  std::uint64_t kept = 0;
  std::uint64_t left = 0;  // dropped, and still read
  friend bool operator==(const SegmentCounts&, const SegmentCounts&) = default;
};

class SegmentBook {
 public:
  using Member = std::uint64_t;  // a connection to the keeper
  using Parcel = std::uint64_t;  // a number; 0: none

  // Numbers begin behind `last`, so that a name which another keeper gave is not taken for one of
  // this keeper's.
  explicit SegmentBook(const SegmentQuota& quota, SegmentNumber last = 0)
      : quota_(quota), last_(last) {}

  // already_exists: it has joined.
  [[nodiscard]] Result<void> join(Member member, const SegmentOwner& owner);
  // Reserves this many bytes, for the member to write.
  //   invalid_argument     no bytes
  //   resource_exhausted   more than a quota allows
  [[nodiscard]] Result<SegmentNumber> reserve(Member member, std::uint64_t bytes);
  // Keeps it, for a parcel or until it is dropped, perhaps as a copy. Answers the generation in its
  // name.
  //   not_found            the member does not write it
  //   failed_precondition  it is not reserved: it is kept already, or not yet returned
  //   invalid_argument     more bytes than it has
  [[nodiscard]] Result<std::uint64_t> commit(Member member, SegmentNumber number, Parcel parcel,
                                             std::uint64_t bytes, const SegmentDigest& digest,
                                             std::optional<SegmentOrigin> copy_of = {});
  // Keeps what an earlier keeper kept, under the name that it had, until it is dropped; perhaps as
  // a copy. Nobody writes it. It counts as the user's, and as no process's.
  //   already_exists       there is a segment of this number
  //   invalid_argument     more bytes than it has
  //   resource_exhausted   more than a quota allows
  [[nodiscard]] Result<void> restore(const SegmentName& name, std::uint64_t bytes,
                                     std::uint32_t user, std::optional<SegmentOrigin> copy_of = {});
  // The member reads it from now on. Answers the name as it was committed, and the bytes of all.
  //   not_found            there is no such segment, or nothing in it is kept
  //   aborted              another generation is kept: the one that is asked for was dropped
  //   already_exists       the member reads it
  struct Opened {
    SegmentName name;
    std::uint64_t bytes = 0;
    friend bool operator==(const Opened&, const Opened&) = default;
  };
  [[nodiscard]] Result<Opened> open(Member member, SegmentNumber number, std::uint64_t generation);

  // These answer the segments that have ended by this, the lowest number first.
  // The member reads it no more, and if it `adopts` a copy, that no longer goes with its original.
  // not_found: it did not.
  [[nodiscard]] Result<SegmentNumbers> close(Member member, SegmentNumber number,
                                             bool adopts = false);
  // It is kept no more, whoever asks.
  //   not_found, aborted   as open()
  //   failed_precondition  it goes with its parcel
  [[nodiscard]] Result<SegmentNumbers> drop(SegmentNumber number, std::uint64_t generation);
  // The same of a copy whose original was dropped.
  //   as drop()
  //   failed_precondition  it was adopted, or is no copy
  //   unavailable          it is read, by who may yet adopt it
  [[nodiscard]] Result<SegmentNumbers> drop_copy(SegmentNumber number, std::uint64_t generation);
  // Its writer wants it no more. What is kept stays so, and ends when it is dropped.
  // not_found: the member does not write it.
  [[nodiscard]] Result<SegmentNumbers> give_up(Member member, SegmentNumber number);
  // A parcel has ended: what was committed for it is kept no more.
  [[nodiscard]] SegmentNumbers end_parcel(Parcel parcel);
  // The connection of a member has closed. (Not known: nothing.)
  [[nodiscard]] SegmentNumbers gone(Member member);
  // A member has unmapped all that it had, or its process is proven to have ended.
  [[nodiscard]] SegmentNumbers end(Member member);

  // What has come back to the member since the last call, at most so many: reserved again.
  [[nodiscard]] Result<SegmentNumbers> take_returned(Member member, std::size_t most);
  // The first that is kept for a parcel; number 0: nothing is.
  [[nodiscard]] SegmentName of_parcel(Parcel parcel) const;
  // Who has something to take.
  [[nodiscard]] std::set<Member> returned_to() const;
  // Whether the member reads anything: then it is not to be forgotten when it hangs up.
  [[nodiscard]] bool reads(Member member) const;
  [[nodiscard]] bool knows(Member member) const { return members_.contains(member); }
  [[nodiscard]] SegmentCounts counts() const;

  // What is kept, for people: those with a number from here on, at most so many.
  [[nodiscard]] std::vector<SegmentStatus> kept(SegmentNumber from, std::size_t most) const;
  friend bool operator==(const SegmentBook&, const SegmentBook&) = default;

 private:
  enum class State : std::uint8_t { reserved, kept, left, returned };
  struct Segment {
    State state = State::reserved;
    std::uint64_t bytes = 0;
    SegmentOwner owner{};
    Member writer = 0;  // 0: it is gone
    SegmentName name{};
    Parcel parcel = 0;
    std::optional<SegmentOrigin> copy_of{};
    bool adopted = false;  // a copy that stays without its original
    std::set<Member> readers{};
    friend bool operator==(const Segment&, const Segment&) = default;
  };
  struct Known {
    SegmentOwner owner{};
    bool gone = false;
    friend bool operator==(const Known&, const Known&) = default;
  };
  using At = std::map<SegmentNumber, Segment>::iterator;

  [[nodiscard]] Result<void> check_member(const char* call, Member member) const;
  // `process_too`: whether the quota of the owner's process binds as well.
  [[nodiscard]] Result<void> check_room(const char* call, const SegmentOwner& owner,
                                        bool process_too, std::uint64_t bytes) const;
  // The segment that the member writes.
  [[nodiscard]] Result<At> written(const char* call, Member member, SegmentNumber number);
  // The segment in which this generation is kept.
  [[nodiscard]] Result<At> kept_as(const char* call, SegmentNumber number,
                                   std::uint64_t generation);
  // Ends a segment that nobody keeps, reads or writes, or returns it to its writer.
  void settle(At at, SegmentNumbers& ended);
  void let_go(Member member, bool also_read, SegmentNumbers& ended);

  SegmentQuota quota_;
  std::map<Member, Known> members_;
  std::map<SegmentNumber, Segment> segments_;
  SegmentNumber last_;
};

}  // namespace aqua
