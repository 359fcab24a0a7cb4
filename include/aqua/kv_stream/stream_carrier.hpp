// SPDX-License-Identifier: Apache-2.0
// StreamCarrier is what a Streamer needs of whoever carries its parcels: room that is promised
// before anything is sent, parts of a sequence that are filled behind kernels and landed in other
// blocks, and word that they have arrived. One process gives and takes by it, under a role of its
// own.
//
//   reserved --room--> open --fill, close--> closed --accept--> taken --confirm--> confirmed
//
// Numbers of parcels that a process gives and of those that it takes have nothing to do with each
// other.
//
// Threads: one at a time. No call but wait() waits for a stream, a socket or another process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aqua/kv_range.hpp"
#include "aqua/layout.hpp"
#include "aqua/result.hpp"
#include "aqua/ticket.hpp"
#include "aqua/types.hpp"

namespace aqua::kv_stream {

enum class Carried : std::uint8_t {
  reserved,   // its receiver has no room for it yet
  open,       // being filled
  closed,     // complete: it outlives its giver, and no copy reads the giver's blocks any more
  confirmed,  // its receiver has all bytes where it needs them
};

struct CarriedParcel {
  std::uint64_t number = 0;
  std::string id{};
  std::uint64_t turn = 0;  // as it was opened with, or higher: each taking may raise it
  std::uint32_t tokens = 0;
  std::string note{};
};

class StreamCarrier {
 public:
  StreamCarrier() = default;
  StreamCarrier(const StreamCarrier&) = delete;
  StreamCarrier& operator=(const StreamCarrier&) = delete;
  virtual ~StreamCarrier() = default;

  // --- giving -----------------------------------------------------------------------------
  // A parcel for whoever has this role; room for it is asked for, unless it `has_room`: that of an
  // earlier turn of the same id. aborted: this turn, or a higher one, has been.
  [[nodiscard]] virtual Result<std::uint64_t> open(const std::string& id, std::uint64_t turn,
                                                   const std::string& role, bool has_room) = 0;
  // How far it has come; `confirmed` stays. Any error: it cannot get any further.
  [[nodiscard]] virtual Result<Carried> state(std::uint64_t number) = 0;
  // Copies a range of a sequence that has these blocks, behind the work posted to `stream` so far.
  [[nodiscard]] virtual Result<void> fill(std::uint64_t number, const KvRange& range,
                                          BlockList blocks, Stream stream) = 0;
  // It is complete, once the work posted to `stream` so far has ended.
  [[nodiscard]] virtual Result<void> close(std::uint64_t number, std::uint32_t tokens,
                                           const std::string& note, Stream stream) = 0;
  // Ends it, unless it has been taken: then nothing changes. failed_precondition: so it is.
  virtual Result<void> recall(std::uint64_t number) = 0;
  // The giver asks for it no more: once closed it goes its way.
  virtual void forget(std::uint64_t number) = 0;

  // --- taking -----------------------------------------------------------------------------
  // There is room for so many more parcels by whoever has that role.
  [[nodiscard]] virtual Result<void> admit(const std::string& from, std::uint32_t parcels) = 0;
  // Parcels for this process that have come since the last call.
  [[nodiscard]] virtual std::vector<CarriedParcel> accept() = 0;
  // Moves a range, just as it was filled, to a range as large of a sequence that has these blocks,
  // behind the work posted to `stream` so far.
  [[nodiscard]] virtual Result<Ticket> land(std::uint64_t number, const KvRange& filled,
                                            BlockList into, const KvRange& at, Stream stream) = 0;
  // All of it has landed: its giver is told.
  [[nodiscard]] virtual Result<void> confirm(std::uint64_t number) = 0;
  // It is needed no more, once the work posted to `stream` so far has ended, and what was landed.
  virtual Result<void> finish(std::uint64_t number, Stream stream) = 0;
  // Parcels that this process has and whose id has a higher turn.
  [[nodiscard]] virtual std::vector<std::uint64_t> superseded() = 0;

  // Blocks until there may be news. False: none came within `patience`.
  [[nodiscard]] virtual bool wait(std::chrono::milliseconds patience) = 0;
};

}  // namespace aqua::kv_stream
