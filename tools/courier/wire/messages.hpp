// SPDX-License-Identifier: Apache-2.0
// What couriers say to each other of parcels and copies, as JSON objects. The courier of the
// giver's server has connected and begins with Hello; that of the taker's answers Welcome or
// Refused. Then, for each parcel:
//
//   Offer -> Go     -> its bytes -> Landed -> Ended     it goes through
//         -> Landed -> Ended                            it had come before, over another connection
//         -> Ended                                      and is needed no more
//         -> Stale                                      to be offered again, under a higher turn
//         -> Later                                      to be offered again, in a while
//         -> Refused                                    as Later, and somebody should look into it
//   Withdraw                                            a higher turn counts; nothing follows
//   CutOff                                              a parcel that will never be offered
//
// Or the one who has connected begins with MirrorHello, and gives copies of what its keeper has.
// The other one answers Welcome and then says what it has already, in Held, of which one that is
// empty is the last. Then, one at a time:
//
//   Copy -> Go -> its bytes -> Landed
//        -> Landed                                      it has it already
//        -> Refused                                     no room, or it cannot be taken
//   Forget                                              the copy is needed no more
//
// Bytes go over TLS, unless the one who has connected can do UCX and says so in its Hello, and the
// other one can as well and says so in its Welcome. Then the former tries to reach the latter over
// UCX, and says Settled before all else: over UCX where it was answered there.
//
// One parcel or copy at a time is between its offer and Landed. Numbers are those of offers, each
// of which has a new one: an answer to an earlier offer of the same parcel is none to a later one.
//
// Threads: free functions. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "aqua/handoff/parcel.hpp"
#include "aqua/result.hpp"
#include "parcel/parcel_book.hpp"
#include "tools/courier/wire/ucx_point.hpp"

namespace aqua::courier {

inline constexpr std::uint32_t kVersion = 4;

// Who connects: parcels of this pool, by this role for that one. A connection takes the place of an
// earlier one of the same courier and index.
struct Hello {
  std::uint32_t version = kVersion;
  std::string pool{};
  std::string from{};
  std::string to{};
  std::uint32_t index = 0;  // of the connections between these
  std::optional<UcxPoint> ucx{};
  friend bool operator==(const Hello&, const Hello&) = default;
};
struct MirrorHello {
  std::uint32_t version = kVersion;
  std::optional<UcxPoint> ucx{};
  friend bool operator==(const MirrorHello&, const MirrorHello&) = default;
};
struct Welcome {
  std::optional<UcxPoint> ucx{};
  std::string why_not{};  // for people: where UCX was offered, and is not taken
  friend bool operator==(const Welcome&, const Welcome&) = default;
};
// Over which carrier bytes go from now on.
struct Settled {
  bool ucx = false;
  std::string why_not{};  // for people
  friend bool operator==(const Settled&, const Settled&) = default;
};
// What a segment is called at the server that it is copied from.
struct Original {
  std::uint64_t keeper = 0;  // SegmentOrigin::keeper
  std::uint64_t number = 0;
  std::uint64_t generation = 0;
  friend auto operator<=>(const Original&, const Original&) = default;
};
inline constexpr std::size_t kMostHeld = 128;
struct Held {
  std::vector<Original> all{};  // at most kMostHeld
  friend bool operator==(const Held&, const Held&) = default;
};
struct Copy {
  std::uint64_t number = 0;  // of the offer, not 0
  Original original{};
  std::uint64_t bytes = 0;
  SegmentDigest digest{};
  friend bool operator==(const Copy&, const Copy&) = default;
};
struct Forget {
  Original original{};
  friend bool operator==(const Forget&, const Forget&) = default;
};
// The parcel as its giver's keeper gave it, with the name of the segment that has its bytes.
struct Offer {
  std::uint64_t number = 0;  // not 0
  Parcel parcel{};
  friend bool operator==(const Offer&, const Offer&) = default;
};
struct Withdraw {
  std::uint64_t number = 0;
  friend bool operator==(const Withdraw&, const Withdraw&) = default;
};
// Its giver ended before it was complete, or took it back.
struct CutOff {
  ParcelHead head{};
  friend bool operator==(const CutOff&, const CutOff&) = default;
};
struct Go {
  std::uint64_t number = 0;
  friend bool operator==(const Go&, const Go&) = default;
};
struct Stale {
  std::uint64_t number = 0;
  std::uint64_t turn = 0;  // the highest that was seen there
  friend bool operator==(const Stale&, const Stale&) = default;
};
struct Later {
  std::uint64_t number = 0;
  friend bool operator==(const Later&, const Later&) = default;
};
// The taker's keeper has it.
struct Landed {
  std::uint64_t number = 0;
  friend bool operator==(const Landed&, const Landed&) = default;
};
// Its giver's keeper need not have it any more: its taker has all bytes, or has no use for it, or
// it was superseded or cancelled there.
struct Ended {
  std::uint64_t number = 0;
  ParcelEvent what = ParcelEvent::confirmed;
  friend bool operator==(const Ended&, const Ended&) = default;
};
struct Refused {
  std::uint64_t number = 0;  // 0: the connection
  Error error{};
};

using Message = std::variant<Hello, MirrorHello, Welcome, Settled, Held, Copy, Forget, Offer,
                             Withdraw, CutOff, Go, Stale, Later, Landed, Ended, Refused>;

// Another's words as they go into a line for people: printable ASCII, a '?' for each byte that is
// none, and at most 500 of them.
[[nodiscard]] std::string in_a_line(std::string_view said);

// What a connection has ended with, which the other side refuses.
[[nodiscard]] Error sent_away(const Refused& said);

// At most kMostWords bytes.
[[nodiscard]] std::string encode(const Message& message);
// invalid_argument: it is none of these; the error is in_a_line(), as it may have words of theirs.
[[nodiscard]] Result<Message> decode(std::string_view words);

}  // namespace aqua::courier
