// SPDX-License-Identifier: Apache-2.0
// PoolBook is the keeper's record of one KV pool: its parcels (ParcelBook) and who has which of its
// blocks (BlockBook), which change together.
//
// A role may have a quota: grant() gives its members no block beyond it. What counts for a role is
// what its members have by themselves, alone or shared, and what parcels have alone that they have
// taken, or have given and nobody has taken. A parcel is accepted whatever the quota, as its blocks
// are there already. Quotas outlive members, as parcels do, and end with the pool. Who gets free
// blocks first is BlockQueue's.
//
// Nothing that a member has is anybody else's before that member has let go of it or its end is
// proven: a connection that closed proves nothing (gone()), the process behind it may write on.
// What it has is orphaned until end().
//
// Threads: none of its own; the keeper calls it on one. Pure: no I/O, no clock.
// Errors:  a call that fails changes nothing. not_found: the caller is no member, or has no such
//          parcel.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aqua/handoff/parcel.hpp"
#include "aqua/result.hpp"
#include "parcel/block_book.hpp"
#include "parcel/block_queue.hpp"
#include "parcel/parcel_book.hpp"

namespace aqua {

class PoolBook {
 public:
  static constexpr std::size_t kMostQuotas = 8;
  // What the record takes of the keeper's memory, at most: for a parcel without its note, and for
  // each of those who have a shared block.
  static constexpr std::uint64_t kParcelBytes = 2048, kSharingBytes = 128;

  // A pool of so many blocks, of so many tokens each.
  explicit PoolBook(std::uint32_t blocks, std::uint32_t block_tokens = 1)
      : blocks_(blocks), block_tokens_(block_tokens) {}

  // `quota` is that of the role, where it has none yet. 0: it gets none by this.
  //   invalid_argument     a quota larger than the pool
  //   resource_exhausted   kMostQuotas other roles have one
  [[nodiscard]] Result<void> join(MemberNumber member, const std::string& role,
                                  std::uint32_t quota = 0);
  // As ParcelBook's.
  [[nodiscard]] Result<void> join_courier(MemberNumber member, const std::string& role,
                                          const ParcelBook::Courier& courier) {
    return parcels_.join_courier(member, role, courier);
  }
  // The second role may have so many blocks more, and the first so many less. Nothing is taken from
  // anybody: who has more than it may gets nothing until it has less.
  //   not_found            one of them has no quota
  //   invalid_argument     no blocks, or from a role to itself
  //   resource_exhausted   the first would be left with no block
  [[nodiscard]] Result<void> move_quota(const std::string& from, const std::string& to,
                                        std::uint32_t blocks);
  [[nodiscard]] const std::map<std::string, std::uint32_t>& quotas() const { return quotas_; }
  // What counts for the role, whether it has a quota or not.
  [[nodiscard]] std::uint32_t had_by_role(const std::string& role) const;
  // How many more the member may have by its role's quota, or without one of what it has not yet.
  // 0: it is not known.
  [[nodiscard]] std::uint32_t allowed(MemberNumber member) const;
  // As BlockBook's; as many as BlockQueue::grant() says. invalid_argument: it lacks more than the
  // pool has.
  [[nodiscard]] Result<Blocks> grant(MemberNumber member, std::uint32_t most,
                                     std::uint32_t least = 0, BlockQueue::TimePoint now = {});
  // As BlockQueue's: the members to be told that they may ask again.
  [[nodiscard]] std::vector<MemberNumber> take_served(BlockQueue::TimePoint now = {});
  [[nodiscard]] Result<void> give_back(MemberNumber member, const Blocks& blocks);
  [[nodiscard]] Result<void> share(MemberNumber member, const Blocks& blocks);

  // As ParcelBook's. A parcel of blocks needs no room at its taker: it is never reserved.
  [[nodiscard]] Result<std::uint64_t> open(MemberNumber giver, const std::string& role,
                                           const ParcelHead& head);
  [[nodiscard]] Result<std::uint64_t> reserve(MemberNumber giver, const std::string& role,
                                              const ParcelHead& head, std::uint64_t since = 0);
  [[nodiscard]] Result<void> admit(MemberNumber member, const std::string& from,
                                   std::uint32_t parcels) {
    return parcels_.admit(member, from, parcels);
  }
  [[nodiscard]] Result<std::uint64_t> resume(MemberNumber giver, const std::string& id,
                                             std::uint64_t since) {
    return parcels_.resume(giver, id, since);
  }
  // Closes it, with the blocks, tokens and note of `parcel`: its blocks are the member's own,
  // shared ones that it has by itself, or those of the parcel of the same id that it has taken,
  // which ends by this: what is not carried over is let go of.
  [[nodiscard]] Result<void> close(MemberNumber giver, std::uint64_t number, const Parcel& parcel);
  // Opens and closes one. Answers its number.
  [[nodiscard]] Result<std::uint64_t> offer(MemberNumber giver, const std::string& role,
                                            const Parcel& parcel);
  // Its blocks are the giver's again.
  [[nodiscard]] Result<void> recall(MemberNumber giver, std::uint64_t number);
  // Parcels that nobody has taken and the member may, the oldest first. They are its own then.
  [[nodiscard]] Result<std::vector<Parcel>> accept(MemberNumber member, std::size_t most);
  // What accept() would answer with next, but for its turn.
  [[nodiscard]] std::optional<Parcel> next_for(MemberNumber member) const;
  [[nodiscard]] Result<std::uint64_t> renew(MemberNumber taker, std::uint64_t number,
                                            std::uint64_t above) {
    return parcels_.renew(taker, number, above);
  }
  [[nodiscard]] Result<void> confirm(MemberNumber taker, std::uint64_t number) {
    return parcels_.confirm(taker, number);
  }
  // Ends a parcel that the member has taken, and lets go of its blocks.
  [[nodiscard]] Result<void> finish(MemberNumber taker, std::uint64_t number,
                                    ParcelEvent what = ParcelEvent::confirmed);
  [[nodiscard]] Result<void> cancel(const std::string& id, std::uint64_t up_to = kMostTurn);

  // The connection of a member has closed. What it has is orphaned. (Not known: nothing.)
  void gone(MemberNumber member);
  // A member has unmapped the pool, or its process is proven to have ended. Its blocks are let go
  // of, and what it had taken waits again. Not quiet: work that it left on a device may still write
  // to its blocks, which are quarantined. (Not known: nothing.)
  void end(MemberNumber member, bool is_quiet = true);
  // As BlockBook's.
  std::uint32_t release_quarantined() { return blocks_.release_quarantined(); }

  // As ParcelBook's.
  [[nodiscard]] Result<void> tell_cut_off(MemberNumber courier, const std::string& role,
                                          const ParcelHead& head) {
    return parcels_.tell_cut_off(courier, role, head);
  }
  void number_after(std::uint64_t last) { parcels_.number_after(last); }
  // Parcels that have ended since the last call, for whoever else has something of them.
  [[nodiscard]] std::vector<std::uint64_t> take_ended() { return std::exchange(ended_, {}); }
  [[nodiscard]] std::vector<ParcelNews> take_news(MemberNumber member,
                                                  const ParcelBook::Fits& fits = {}) {
    return parcels_.take_news(member, fits);
  }
  // Whether a member has a block, or has taken a parcel.
  [[nodiscard]] bool has_any(MemberNumber member) const {
    return blocks_.had_by(member) != 0 || !parcels_.taken_by(member).empty();
  }
  // What its parcels and shared blocks take of the keeper's memory.
  [[nodiscard]] std::uint64_t bytes() const {
    return parcels_.size() * kParcelBytes + parcels_.note_bytes() +
           blocks_.sharings() * kSharingBytes;
  }
  [[nodiscard]] std::uint32_t blocks() const { return blocks_.blocks(); }
  [[nodiscard]] std::uint32_t block_tokens() const { return block_tokens_; }
  [[nodiscard]] std::uint32_t free_blocks() const { return blocks_.free_blocks(); }
  [[nodiscard]] PoolCounts counts() const { return blocks_.counts(); }
  [[nodiscard]] const ParcelBook& parcels() const { return parcels_; }
  friend bool operator==(const PoolBook&, const PoolBook&) = default;

 private:
  [[nodiscard]] Result<void> check_member(const char* call, MemberNumber member) const;
  [[nodiscard]] BlockQueue::Pool as_of(BlockQueue::TimePoint now) const;
  [[nodiscard]] Parcel parcel_of(std::uint64_t number) const;
  void drop_ended();

  ParcelBook parcels_;
  BlockBook blocks_;
  BlockQueue queue_;
  std::uint32_t block_tokens_;
  std::map<std::string, std::uint32_t> quotas_;  // by role
  std::vector<std::uint64_t> ended_{};
};

}  // namespace aqua
