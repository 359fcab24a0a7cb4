// SPDX-License-Identifier: Apache-2.0
// Carrier is what parcels (aqua/handoff/parcel.hpp) travel by, whatever lies between giver and
// taker: one pool of blocks that both have mapped (aqua::KvPool), or memory that is copied through.
// Who hands KV over knows a Carrier, and not which.
//
//   giver:  open(head, role) -> number, fill() behind each kernel, close(), deliveries()
//   taker:  admit() room, accept() -> parcels, land() into its own blocks, confirm(), finish()
//
// A giver learns three things apart: that its blocks are read no more (the tickets of fill()), that
// the parcel outlives it (state() is closed), and that the taker has all of it (deliveries()).
//
// Numbers of parcels that one gives are its own, from open(); of those that one takes they are in
// the parcel.
//
// Threads: every method may be called concurrently. None waits for a stream, a socket or another
//          process, but wait().
// Errors:  a call that fails changes nothing. not_found: there is no such parcel of the caller's.
//          A stream that is none is invalid_argument, one that is being captured
//          failed_precondition, as are fill() and close() of a parcel that is not open, where it
//          needs room. unavailable: nothing is carried any more.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aqua/export.h"
#include "aqua/handoff/parcel.hpp"
#include "aqua/kv_range.hpp"
#include "aqua/layout.hpp"
#include "aqua/result.hpp"
#include "aqua/ticket.hpp"
#include "aqua/types.hpp"

namespace aqua {

// What has become of a parcel that was opened: the last that its giver hears of it.
struct Delivery {
  enum class Outcome : std::uint8_t {
    confirmed,   // its taker has all bytes: free what was kept
    superseded,  // a higher turn of the request counts
    cancelled,   // by name, before it was taken
    recalled,    // as asked
    refused,   // `error` says why: aborted, of a turn that is not higher; invalid_argument, of one
               // above kMostTurn; what the stream's work is
    in_doubt,  // nothing is carried any more, and it may have arrived or not
    declined,  // its taker does not want it, or cannot use it; its bytes have not landed
  };
  std::uint64_t number = 0;
  Outcome outcome = Outcome::confirmed;
  bool returned = false;  // what close() gave away, if it was called, is the giver's again
  Error error{};          // of refused and in_doubt
};

class AQUA_API Carrier {
 public:
  Carrier() = default;
  virtual ~Carrier() = default;

  // --- who gives ---------------------------------------------------------------------------------
  // A parcel for whoever has this role. Room for it is asked for in the background; one of a higher
  // turn has that of an earlier one of its id.
  // invalid_argument: the id or the role. What is wrong with the turn is told by deliveries().
  [[nodiscard]] virtual Result<std::uint64_t> open(const ParcelHead& head,
                                                   const std::string& role) = 0;
  // Reserved until there is room, then open; closed once what close() has asked for is done, so
  // that it arrives also if this process ends. not_found: deliveries() has told of it, or will.
  [[nodiscard]] virtual Result<ParcelState> state(std::uint64_t number) const = 0;
  // Carries a range of the sequence that lies in these blocks, once the work posted to `stream` so
  // far has ended. Once the ticket is done the blocks are read no more, however slow the taker is.
  // Within a pool nothing is carried, and the ticket is done.
  //   invalid_argument    a range that the blocks do not have
  //   resource_exhausted  more than there is room for in a parcel
  [[nodiscard]] virtual Result<Ticket> fill(std::uint64_t number, const KvRange& range,
                                            BlockList from, Stream stream) = 0;
  // It is complete once the work posted to `stream` so far has ended, and what was filled is there.
  // Within a pool its blocks are the caller's no more (KvPool::hand_over()); elsewhere they are not
  // looked at. What the caller had accepted of this id by open() ends with it, and is not to be
  // finished.
  // invalid_argument: the blocks, or a note of more than 4 KiB.
  [[nodiscard]] virtual Result<void> close(std::uint64_t number, BlockList blocks,
                                           std::uint32_t tokens, std::string note,
                                           Stream stream) = 0;
  // Takes it back, if nobody has taken it by then: deliveries() tells which it was.
  [[nodiscard]] virtual Result<void> recall(std::uint64_t number) = 0;
  // What has become of parcels since the last call.
  [[nodiscard]] virtual std::vector<Delivery> deliveries() = 0;

  // --- who takes ---------------------------------------------------------------------------------
  // There is room for so many more parcels here, by whoever has the role `from`. Means nothing
  // where none is needed. invalid_argument: the role, or more than 65,536 at once. By several calls
  // there comes to be room for no more either: a keeper that refuses one says so in the carrier's
  // status, and the room stays what it was.
  // Each parcel that is accepted uses up room for one: say so again when it is finished. One of a
  // higher turn has that of an earlier one of its id until this process has finished that.
  [[nodiscard]] virtual Result<void> admit(const std::string& from, std::uint32_t parcels) = 0;
  // Parcels for the caller's role that are at hand, the oldest first. They are its own until
  // finish().
  [[nodiscard]] virtual std::vector<Parcel> accept(std::size_t most) = 0;
  // Brings what was filled as `filled`, in one call and as its giver counts, to the range `at` of a
  // sequence that has these blocks of the caller's, behind the work posted to `stream` so far. Both
  // ranges have as many layers, tokens and heads.
  // Within a pool the blocks are the parcel's, `into` is empty, and the ticket is done.
  // invalid_argument: nothing was filled so, or it is not as large; or the blocks do not have it.
  [[nodiscard]] virtual Result<Ticket> land(std::uint64_t number, const KvRange& filled,
                                            BlockList into, const KvRange& at, Stream stream) = 0;
  // Whether land() of the same could begin now; else the error that it would answer. To be asked of
  // all that is to land together before the first of it is landed, whose bytes would be on their
  // way when another part is refused.
  [[nodiscard]] virtual Result<void> check_landable(std::uint64_t number, const KvRange& filled,
                                                    BlockList into, const KvRange& at) = 0;
  // All that is wanted of it has landed: the giver need not keep it.
  [[nodiscard]] virtual Result<void> confirm(std::uint64_t number) = 0;
  // The work on it has ended, once the work posted to `stream` so far has.
  [[nodiscard]] virtual Result<void> finish(std::uint64_t number, Stream stream) = 0;
  // As finish(), of a parcel that is of no use here: unless it was confirmed before, its giver is
  // told that it was declined.
  [[nodiscard]] virtual Result<void> decline(std::uint64_t number, Stream stream) = 0;
  // The same of a parcel that no other work has touched than that of land(), which is waited for
  // whatever its stream. No stream is named, so that none can be refused.
  [[nodiscard]] virtual Result<void> decline(std::uint64_t number) = 0;
  // Parcels of the caller's that are superseded since the last call: what it makes of them counts
  // no more, and they are to be finished.
  [[nodiscard]] virtual std::vector<std::uint64_t> superseded() = 0;
  // Parcels for the caller's role that do not come under this turn, since the last call: their
  // giver ended before they were closed, or took them back, or they were cancelled. Told to whoever
  // has promised room, else to all of the role. What was complete of a lower turn comes all the
  // same, and another turn may come, or have come. Of what is not asked for up to kMostCutOff are
  // kept.
  [[nodiscard]] virtual std::vector<ParcelHead> cut_off() = 0;

  // --- both --------------------------------------------------------------------------------------
  // Blocks until there is news since the last call, of any of the above. False: none came within
  // `patience`.
  [[nodiscard]] virtual bool wait(std::chrono::milliseconds patience) = 0;
  // Once false it stays so.
  [[nodiscard]] virtual bool is_connected() const = 0;

 protected:
  Carrier(const Carrier&) = default;
  Carrier(Carrier&&) noexcept = default;
  Carrier& operator=(const Carrier&) = default;
  Carrier& operator=(Carrier&&) noexcept = default;
};

}  // namespace aqua
