// SPDX-License-Identifier: Apache-2.0
// Parcel is the KV cache of one request on its way from one process to another: prefill hands it
// over, decode takes it over. This is the one way by which KV changes process; carriers
// (aqua/handoff/carrier.hpp) differ in how the bytes get there.
//
//   reserved --room--> open --close--> closed --accept--> taken --confirm--> confirmed --finish-->
//
// What holds, whoever carries it:
//   - It is closed once the work on the giver's stream is complete, and taken by one process.
//   - Closed, it outlives its giver, and waits until somebody of the role takes it or it is
//     cancelled by name. No clock ends it. Open, it ends with its giver.
//   - If its taker dies before it has finished it, it waits for the next one, with the bytes that
//     it was closed with. A taker therefore writes behind `tokens` alone.
//   - Each id has turns, which only grow. To take a parcel raises the turn: the taker speaks for
//     the request under the turn that its parcel says, and hands it on under a higher one. What is
//     said under a lower turn counts no more (aborted); who has the parcel of a lower turn is told
//     that it is superseded, and may only finish it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aqua/export.h"
#include "aqua/handoff/segment.hpp"

namespace aqua {

enum class ParcelState : std::uint8_t {
  reserved,   // nobody has said yet that it has room for it
  open,       // being filled by its giver
  closed,     // complete; it waits for a taker
  taken,      // one process has it
  confirmed,  // and has all bytes where it needs them: the giver keeps nothing any more
};

// "reserved", "open", "closed", "taken" or "confirmed".
[[nodiscard]] AQUA_API const char* to_string(ParcelState state) noexcept;

// The highest turn under which a parcel may be given. Those that takes make may lie above it.
inline constexpr std::uint64_t kMostTurn = std::uint64_t{1} << 49;

// The most parcels which will not come that are remembered for a process that does not ask by
// Carrier::cut_off().
inline constexpr std::size_t kMostCutOff = std::size_t{1} << 12;

// Names a parcel before there is anything in it.
struct ParcelHead {
  std::string id{};        // of the request: 1 to 256 bytes of printable ASCII
  std::uint64_t turn = 0;  // higher than every turn of this id so far; at most kMostTurn
  friend bool operator==(const ParcelHead&, const ParcelHead&) = default;
};

struct Parcel {
  // Names it once it is on its way; of a giver's it is not looked at. Never given twice.
  std::uint64_t number = 0;
  std::string id{};         // as ParcelHead::id
  std::uint64_t turn = 0;   // of a giver's as ParcelHead::turn; of a taker's what it speaks under
  std::uint64_t given = 0;  // of a taker's: the turn that its giver said, also on another server
  std::string from{};       // of a taker's: the role of its giver
  // Within a pool: where its tokens lie, in their order. Others may share those that the giver
  // shares. Empty where bytes are carried elsewhere.
  std::vector<std::uint32_t> blocks{};
  // For its taker: the keeper's segment in which the parcel's bytes lie (aqua::SegmentCarrier), and
  // which ends with the parcel. Number 0: they lie in none.
  SegmentName segment{};
  std::uint32_t tokens = 0;  // that are in it
  // The giver's words to the taker, at most 4 KiB: the token that is pending, how to sample.
  std::string note{};
  // Work of an earlier taker that died may still write behind `tokens`: nothing is to be appended
  // to these blocks in place. Copy the last, partly filled one, and append to blocks of your own.
  bool tail_in_doubt = false;
  friend bool operator==(const Parcel&, const Parcel&) = default;
};

}  // namespace aqua
