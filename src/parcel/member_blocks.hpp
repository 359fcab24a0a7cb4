// SPDX-License-Identifier: Apache-2.0
// MemberBlocks is what a member of a KV pool knows of its own blocks, so that most calls need no
// answer from the keeper: which it may give out, which are in use, and which parcels it has taken.
// The keeper's record (PoolBook) decides; this one never claims more than that has.
//
// Threads: none of its own. Pure: no I/O, no clock.
// Errors:  a call that fails changes nothing. invalid_argument: a block that is not the member's,
//          or is named twice.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "aqua/handoff/parcel.hpp"
#include "aqua/result.hpp"
#include "parcel/pool_book.hpp"

namespace aqua {

class MemberBlocks {
 public:
  // A parcel on its way to the keeper, and what it takes to have it back.
  struct HandedOver {
    Parcel parcel{};
    std::string role{};
    Blocks own{};                   // of its blocks, those that were this member's alone
    std::optional<Parcel> taken{};  // that ended by it
    std::uint64_t given = 0;        // as which it was opened; 0: it is opened and closed in one
  };
  struct Released {
    Blocks own{};     // to be idle(), once no work is left on them
    Blocks shared{};  // to be given back to the keeper
  };

  explicit MemberBlocks(std::uint32_t blocks) : states_(blocks, State::none) {}

  // These are the member's, and free to be given out.
  void idle(const Blocks& blocks);
  // The last that became idle first. resource_exhausted: fewer are.
  [[nodiscard]] Result<Blocks> allocate(std::size_t count);
  [[nodiscard]] Result<Released> release(BlockList blocks);
  // What is idle beyond `most`, to be given back to the keeper.
  [[nodiscard]] Blocks surplus(std::size_t most);
  // See PoolBook::share().
  [[nodiscard]] Result<void> share(BlockList blocks);

  // See PoolBook::close().
  [[nodiscard]] Result<HandedOver> hand_over(Parcel parcel, std::string role);
  // The keeper did not take it, or has given it back: all is as it was before.
  void undo(const HandedOver& handed);
  // The parcel's blocks that were shared. Once the keeper has given the parcel back
  // (PoolBook::recall()), it counts each of them once more for this member than is counted here. A
  // parcel that continued another one is never given back.
  [[nodiscard]] static Blocks shared_in(const HandedOver& handed);
  void taken(const Parcel& parcel) { taken_[parcel.number] = parcel; }
  [[nodiscard]] bool has_taken(std::uint64_t number) const { return taken_.contains(number); }
  // not_found: no such parcel is this member's.
  [[nodiscard]] Result<void> finish(std::uint64_t number);

  [[nodiscard]] std::size_t blocks() const { return states_.size(); }  // of the whole pool
  [[nodiscard]] std::size_t idle_blocks() const { return idle_.size(); }
  [[nodiscard]] std::size_t used_blocks() const { return used_; }  // its own, given out
  [[nodiscard]] std::size_t parcels() const { return taken_.size(); }

 private:
  enum class State : std::uint8_t { none, idle, used };

  [[nodiscard]] Error foreign(const char* call, std::uint32_t block) const;
  [[nodiscard]] const Parcel* taken_as(const std::string& id) const;
  void set_used(const Blocks& blocks, State state);

  std::vector<State> states_;  // of blocks that are this member's alone
  std::unordered_map<std::uint32_t, std::uint32_t> shared_;  // how many times it has each
  Blocks idle_;
  std::size_t used_ = 0;
  std::map<std::uint64_t, Parcel> taken_;
};

}  // namespace aqua
