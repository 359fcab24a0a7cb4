// SPDX-License-Identifier: Apache-2.0
// BlockBook is the keeper's record of the blocks of one KV pool: which member or which parcel has
// which. What parcels are is another's record (ParcelBook).
//
//   free --grant()--> owned --gather()--> a parcel's --drop()--> free
//    ^                 |  ^--drop(), recalled-'
//    |--give_back()----|
//    |                 |--share()--> shared, by any number of members and parcels
//    |------ the last of them lets go ----'
//    '--release_quarantined()-- quarantined <-- of a member whose work may not have ended
//
// A block is free, in the sole hands of a member or of a parcel, shared, or quarantined. Who has it
// shared reads it alone, so that it can be in several parcels. A parcel keeps its blocks until it
// is dropped, whoever has taken it.
//
// A member whose end is proven may have left work on the device that still writes. What it wrote is
// quarantined then, instead of free: what it had alone at once; of the parcels that it had taken
// the blocks behind their tokens, which stay in their parcel (is_in_doubt()), when that is dropped.
//
// Threads: none of its own; the keeper calls it on one. Pure: no I/O, no clock.
// Errors:  a call that fails changes nothing. invalid_argument: a block that is not the member's,
//          or is named twice.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "aqua/layout.hpp"
#include "aqua/result.hpp"
#include "parcel/parcel_book.hpp"

namespace aqua {

using Blocks = std::vector<std::uint32_t>;

struct PoolCounts {
  std::uint32_t free = 0;
  std::uint32_t owned = 0;        // by members that are there, alone; also those of taken parcels
  std::uint32_t offered = 0;      // in parcels that nobody has taken
  std::uint32_t shared = 0;       // however many have them
  std::uint32_t orphaned = 0;     // by members that are gone and whose end is not proven
  std::uint32_t quarantined = 0;  // of members that have ended, and whose work may not have
  friend bool operator==(const PoolCounts&, const PoolCounts&) = default;
};

// invalid_argument: a block that is not below `of`, or is named twice.
[[nodiscard]] Result<void> check_blocks(const char* call, BlockList blocks, std::size_t of);

class BlockBook {
 public:
  explicit BlockBook(std::uint32_t blocks) : all_(blocks) {}

  // Up to `most` free blocks are the member's from now on, the lowest first; none is no error.
  [[nodiscard]] Blocks grant(MemberNumber member, std::uint32_t most);
  // The member lets go of blocks: of its own, which are free then, and of shared ones.
  // failed_precondition: one of a parcel that it has taken.
  [[nodiscard]] Result<void> give_back(MemberNumber member, const Blocks& blocks);
  // Blocks of its own are shared from now on: it has them as before, to be read. Of blocks that are
  // shared already, or in parcels that it has taken, it has each once more then, by itself.
  [[nodiscard]] Result<void> share(MemberNumber member, const Blocks& blocks);

  // Whether the member may put these into a parcel: they are its own, shared ones that it has by
  // itself, or those of `taken`, a parcel that it has taken (0: none).
  [[nodiscard]] Result<void> check_gather(MemberNumber member, std::uint64_t taken,
                                          const Blocks& blocks) const;
  // They are the new parcel's, as check_gather() allows. `taken` keeps the others.
  void gather(std::uint64_t number, std::uint64_t taken, const Blocks& blocks);
  // A member has taken the parcel; 0: nobody has it.
  void give(std::uint64_t number, MemberNumber taker) { parcels_.at(number).taker = taker; }
  // Lets go of the parcel's blocks: to `member`, whose they were, or to nobody (0). (Not known:
  // nothing.)
  void drop(std::uint64_t number, MemberNumber member = 0);
  [[nodiscard]] const Blocks& blocks_of(std::uint64_t number) const {
    return parcels_.at(number).blocks;
  }
  // The blocks of a parcel from this one on may still be written by a taker that has ended.
  void doubt(std::uint64_t number, std::size_t first);
  [[nodiscard]] bool is_in_doubt(std::uint64_t number) const;

  void gone(MemberNumber member) { gone_.insert(member); }
  // Lets go of what the member had by itself. Its parcels have been given to nobody or dropped.
  void end(MemberNumber member, bool is_quiet);
  // The operator knows that nothing of the dead writes any more: what was quarantined is free, and
  // nothing is in doubt. Answers how many blocks.
  std::uint32_t release_quarantined();

  // Blocks that the member has by itself, alone or shared.
  [[nodiscard]] std::uint32_t had_by(MemberNumber member) const;
  // Blocks that the parcel, which is known, has alone.
  [[nodiscard]] std::uint32_t alone_in(std::uint64_t number) const {
    return parcels_.at(number).alone;
  }
  [[nodiscard]] std::uint32_t blocks() const { return static_cast<std::uint32_t>(all_.size()); }
  // Pairs of a shared block and one who has it: each takes an entry of the record.
  [[nodiscard]] std::uint64_t sharings() const { return sharings_; }
  [[nodiscard]] std::uint32_t free_blocks() const {
    return static_cast<std::uint32_t>(all_.size() - untouched_ + free_.size());
  }
  [[nodiscard]] PoolCounts counts() const;  // looks at every block
  friend bool operator==(const BlockBook&, const BlockBook&) = default;

 private:
  // Who has a block alone: a member, or a parcel, waiting or taken. Or those in sharers_ have it.
  struct Holder {
    enum class Kind : std::uint8_t {
      nobody,
      member,
      parcel,
      sharers,
      quarantine
    } kind = Kind::nobody;
    std::uint64_t number = 0;
    friend auto operator<=>(const Holder&, const Holder&) = default;
  };
  struct InParcel {
    Blocks blocks{};
    MemberNumber taker = 0;
    std::uint32_t alone = 0;  // of its blocks, those that nobody shares
    friend bool operator==(const InParcel&, const InParcel&) = default;
  };

  static Holder of_member(MemberNumber number) { return {Holder::Kind::member, number}; }
  static Holder of_parcel(std::uint64_t number) { return {Holder::Kind::parcel, number}; }

  [[nodiscard]] bool has_taken(MemberNumber member, Holder holder) const;
  // Whether a shared block is one that the member has, by itself or in a parcel that it has taken.
  [[nodiscard]] bool shares(MemberNumber member, std::uint32_t block) const;
  // The member has one more block by itself, or one less.
  void has_more(MemberNumber member) { ++had_[member]; }
  void has_less(MemberNumber member);
  // It has a shared block once more. True: it had it not.
  bool add_sharer(std::uint32_t block, Holder holder);
  // Does nothing where `holder` does not have the block. True: nobody has it any more.
  bool let_go(std::uint32_t block, Holder holder);
  // Or quarantined, where work may still write it.
  void set_free(std::uint32_t block, bool is_quiet);

  std::vector<Holder> all_;
  // How many times each has a shared block.
  std::map<std::uint32_t, std::map<Holder, std::uint32_t>> sharers_;
  std::uint64_t sharings_ = 0;    // entries of the inner maps of sharers_
  std::uint32_t untouched_ = 0;   // from here on no block has ever been granted
  std::set<std::uint32_t> free_;  // below that
  std::set<std::uint32_t> in_doubt_;
  std::map<std::uint64_t, InParcel> parcels_;
  std::map<MemberNumber, std::uint32_t> had_;  // see had_by(); of none there is no entry
  std::set<MemberNumber> gone_;
};

}  // namespace aqua
