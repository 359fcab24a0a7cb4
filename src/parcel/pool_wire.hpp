// SPDX-License-Identifier: Apache-2.0
// What members of a KV pool ask of the keeper, and its answers: docs/internals/exchange.md has the
// packets. They are of the same kind as keeper_wire's; a connection that has joined a pool is a
// member of that one until it ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "aqua/handoff/parcel.hpp"
#include "aqua/handoff/pools.hpp"
#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "base/keeper/packets.hpp"
#include "parcel/block_book.hpp"
#include "parcel/parcel_json.hpp"

namespace aqua::pool_wire {

inline constexpr std::size_t kLongestShape = 1024;     // bytes
inline constexpr std::size_t kLongestPeer = 256;       // bytes
inline constexpr std::size_t kMostNamedBlocks = 4096;  // in one request or answer, but for parcels
inline constexpr std::size_t kMostPoolRows = 8;        // in one answer, of which each may be long
inline constexpr std::size_t kMostParcelRows = 32;     // likewise

// Answer: slabs; with it an eventfd that is written when parcels or blocks are there for the
// member. Where there is no such pool, `make` is true, and the caller makes it with AddSlabs. Where
// another one is making it, `later` is true, and the eventfd is written when it is time to join
// again. A pool of no blocks and no bytes is there at once: its parcels have segments, or nothing.
struct JoinPool {
  std::string pool;
  std::string role;
  DeviceUuid device;
  std::string shape;  // compared with that of the others, and shown to people
  std::uint32_t blocks = 0;
  std::uint32_t block_tokens = 1;
  std::uint64_t bytes = 0;  // of all slabs
  std::uint32_t quota = 0;  // of the role, where it has none yet; 0: it gets none by this
  // Given by who carries parcels between keepers.
  std::optional<ParcelBook::Courier> courier{};
};
// The next slabs of a pool that the caller makes, with a descriptor each. With the last of them the
// pool is there, and the caller is a member.
struct AddSlabs {
  std::vector<std::uint64_t> bytes;
};
// Slabs of the pool from this one on. Answer: bytes, with a descriptor each.
struct FetchSlabs {
  std::uint32_t first = 0;
};
// Answer: blocks, at most kMostNamedBlocks. The member lacks `least`, and is answered none where it
// has to wait for them; where it lacks more than `most` it asks again at once. 0: it fills its
// reserve, and is answered what nobody waits for. Of nothing at all: it does not wait any more.
struct Grant {
  std::uint32_t most = 0;
  std::uint32_t least = 0;
};
struct GiveBack {
  Blocks blocks;
};
struct Share {
  Blocks blocks;
};
// Answer: number.
struct Offer {
  std::string role;
  Parcel parcel;
};
// Answer: number, and whether it is open. One that needs room at its taker is reserved until there
// is. The parcel gets its blocks, tokens and note by Close.
struct Open {
  std::string role;
  ParcelHead head;
  bool needs_room = false;
  // Not 0: the caller carries it from another keeper, where its giver opened it under this turn.
  // What has arrived of it before is gone on with: closed is true then. already_exists: it has all
  // arrived; cancelled: one that began under a higher turn has. Where nothing has, and the turn is
  // too low, number is 0, and turn the highest that was seen; aborted, while somebody gives
  // something of a turn that is not lower.
  std::uint64_t since = 0;
};
// Answer: turn, a new one under which the member speaks for what it has taken, and above this one.
struct Renew {
  std::uint64_t number = 0;
  std::uint64_t above = 0;
};
// The member has room for so many more parcels by whoever has this role.
struct Admit {
  std::string from;
  std::uint32_t parcels = 0;
};
// Closes the parcel of this number.
struct Close {
  Parcel parcel;
};
struct Recall {
  std::uint64_t number = 0;
};
struct Confirm {
  std::uint64_t number = 0;
};
// Answer: parcels, as many as go into a packet; told, what has become of parcels since the last
// time; waiting.
struct Accept {
  std::uint32_t most = 0;
};
// Its giver is told `what`: confirmed; declined, where its taker has no use for it; or superseded
// or cancelled, where it was that elsewhere.
struct Finish {
  std::uint64_t number = 0;
  ParcelEvent what = ParcelEvent::confirmed;
};
// Told by who carries parcels: one that was to come from another keeper does not.
struct TellCutOff {
  std::string role;
  ParcelHead head;
};
// Ends what nobody has taken of the id and was given under this turn or a lower one.
struct Cancel {
  std::string pool;
  std::string id;
  std::uint64_t up_to = kMostTurn;
};
// The member has unmapped the pool.
struct Leave {};
// Answer: pools from this row on, and whether there are more.
struct ListPools {
  std::uint32_t first = 0;
};
// Answer: listed, the pool's parcels whose numbers are higher than this one, and whether there are
// more.
struct ListParcels {
  std::string pool;
  std::uint64_t after = 0;
};
struct RemovePool {
  std::string pool;
};
// What the dead may still have written is quiet now.
struct Release {
  std::string pool;
};
// The blocks of so many slabs go from the quota of one role to that of another.
struct MoveQuota {
  std::string pool;
  std::string from;
  std::string to;
  std::uint32_t slabs = 0;
};
using PoolRequest =
    std::variant<JoinPool, AddSlabs, FetchSlabs, Grant, GiveBack, Share, Offer, Open, Close, Recall,
                 Confirm, Accept, Finish, Cancel, Leave, ListPools, RemovePool, Release, MoveQuota,
                 Admit, Renew, TellCutOff, ListParcels>;

struct PoolReply {
  bool make = false, later = false;
  std::uint32_t slabs = 0;
  std::vector<std::uint64_t> bytes{};
  Blocks blocks{};
  std::uint64_t number = 0;
  bool open = false;
  bool closed = false;
  std::uint64_t turn = 0;
  std::vector<Parcel> parcels{};
  // Filled in when a reply is read. Why a parcel or news in it could not be read, of several the
  // last; these are not in the lists here. The member has such a parcel all the same, and its
  // blocks stay taken until the member leaves. Empty: all could be read.
  std::string unread{};
  std::vector<ParcelNews> told{};
  std::uint32_t waiting = 0;  // parcels for the member's role, after these
  std::vector<PoolStatus> pools{};
  std::vector<ParcelStatus> listed{};
  bool more = false;
  friend bool operator==(const PoolReply&, const PoolReply&) = default;
};

[[nodiscard]] std::string encode(const PoolRequest& request);
[[nodiscard]] std::string encode(const Result<PoolReply>& reply);
// Nothing for a request of another kind (keeper_wire's). invalid_argument for what is meant to be
// one of these, and cannot be.
[[nodiscard]] Result<std::optional<PoolRequest>> decode_pool_request(std::string_view packet);
// The keeper's own refusal, or invalid_argument for what is no answer.
[[nodiscard]] Result<PoolReply> decode_pool_reply(std::string_view packet);

}  // namespace aqua::pool_wire
