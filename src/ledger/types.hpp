// SPDX-License-Identifier: Apache-2.0
// The ledger's rows, messages and limits, as plain data. docs/internals/ledger.md says what they
// mean.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "base/ids.hpp"

namespace aqua::ledger {

using Time = std::chrono::milliseconds;  // since any fixed origin, never decreasing

// A slab is named by who exports it and by its number there; the number stays with one
// allocation during the life of that client.
struct SlabId {
  ClientId producer;
  std::uint32_t index = 0;
  friend auto operator<=>(const SlabId&, const SlabId&) = default;
};
using Generation = std::uint64_t;  // starts at 1, grows by one each time a slab changes hands

enum class SlabState : std::uint8_t {
  offered,      // free to grant
  leased,       // held, time to live running
  suspect,      // held, but the holder is silent: neither free nor revoked
  revoking,     // held, and the producer wants it back
  orphaned,     // held, and the producer is gone; ends with the hold
  quarantined,  // nobody holds it; waits for the exporter's scrub
  returned,     // back with the producer; no row is kept, so also: unknown
};

enum class ClientState : std::uint8_t {
  live,
  suspect,  // silent past its time to live, or its lifeline closed without proof of death
};

inline constexpr std::uint32_t kUnknownUser = 0xffffffff;  // no user has this number

struct ClientInfo {
  ClientId id;
  std::string name;  // for people
  DeviceUuid device;
  std::string device_name;  // "emu:0"
  std::string server;       // boot id: memory is shared only inside one
  std::string domain;       // NVLink domain; pairs form inside one
  std::string exchange;     // path of the socket where this client's slabs are fetched; "" if none
  bool producer = false;
  bool consumer = false;
  std::int64_t pid = 0;              // with `started` names a process for good; told by the kernel
  std::uint64_t started = 0;         // clock ticks from boot to the process's start; 0: not known
  std::uint32_t uid = kUnknownUser;  // the process's user, told by the kernel; never on the wire
  friend bool operator==(const ClientInfo&, const ClientInfo&) = default;
};

struct OfferedSlab {
  std::uint32_t index = 0;
  std::uint64_t bytes = 0;
  Generation generation = 1;
  LeaseSecret secret;              // what the exporter will ask of whoever fetches this generation
  std::optional<ClientId> holder;  // set when re-declaring after a coordinator restart: still held
};

struct Grant {
  SlabId slab;
  std::uint64_t bytes = 0;
  Generation generation = 0;
  LeaseSecret secret;
  std::string exchange;  // where to fetch it
  Time expires{};
};

// What watchers are told. Events are numbered per ledger, from 1, without gaps.
enum class EventKind : std::uint8_t {
  offers_available,  // to consumers: more may be granted now
  granted,           // to the producer
  revoke,            // to the holder: give this slab back by `deadline`
  returned,          // to the producer: the holder has unmapped; scrub it
  holder_dead,       // to the producer: proven dead; scrub it
  producer_gone,     // to the holder: your mapping lives on, move off it
  reclaim_done,      // to the producer: a reclaim ended, perhaps partially
  withdrawn,         // to the producer: an operator's reclaim took this free slab; take it home
};

struct Event {
  std::uint64_t number = 0;
  EventKind kind{};
  ClientId to;
  SlabId slab;  // where it concerns one
  Generation generation = 0;
  Time deadline{};            // revoke
  std::uint64_t reclaim = 0;  // revoke, reclaim_done, withdrawn; returned and holder_dead when
                              // one wants it
};

// "I have scrubbed slab `index`; generation `done` is over, the next one has `next_secret`."
struct Scrub {
  std::uint32_t index = 0;
  Generation done = 0;
  LeaseSecret next_secret;
};

struct Slab {
  SlabId id;
  std::uint64_t bytes = 0;
  SlabState state = SlabState::offered;
  Generation generation = 1;
  LeaseSecret secret;
  std::optional<ClientId> holder;  // when it runs out: Client::leases_expire of this client
  std::uint64_t reclaim = 0;       // the reclaim that wants it back; 0: none
  std::uint64_t granted = 0;  // the ledger counts its grants: larger is later; 0: none (alleged)
  bool late = false;          // held past a reclaim's deadline
};

// Why lease() gave a consumer nothing, the last time that it asked.
struct LeaseRefusal {
  Error why;  // without the operation and the client
  Time at{};
};

struct Client {
  ClientInfo info;
  ClientState state = ClientState::live;
  Time expires{};         // when the client turns suspect
  Time leases_expire{};   // when its leases do, all together: every sign of life renews them all
  bool restored = false;  // known from a former life of the ledger, and has not joined in this one
  bool draining = false;  // an operator's wish: nothing is granted of it or to it
  // Until it is granted something.
  std::optional<LeaseRefusal> refused = std::nullopt;
};

struct Reclaim {
  std::uint64_t id = 0;
  ClientId producer;
  std::uint64_t bytes_wanted = 0;    // what was asked, at most what could be had
  std::uint64_t bytes_returned = 0;  // scrubbed and back with the producer
  Time started{};
  Time deadline{};
  Time ended{};                  // when it was done
  bool done = false;             // all back, or the deadline passed
  std::set<SlabId> outstanding;  // not back yet; late returns still arrive
};

struct Limits {
  Time client_ttl{3000};
  Time lease_ttl{5000};
  std::size_t max_clients = 1024;
  std::size_t max_slabs_per_client = 65536;
  // In all, orphans included; one process has half of them at most, one user three quarters.
  std::size_t max_slabs = 262'144;
  std::uint64_t max_slab_bytes = std::uint64_t{1} << 40;
  std::size_t event_window = 65536;    // older events are forgotten; readers get a snapshot
  std::size_t finished_reclaims = 16;  // completed ones remembered per producer
  bool share_producers = false;        // false: one producer to one consumer
  bool share_device = false;           // true: also between two clients on one device
};

// True when nobody but its producer says that `slab.holder` holds it. Such a slab is granted to
// nobody else, and counts for nothing against that holder.
[[nodiscard]] constexpr bool is_alleged(const Slab& slab) noexcept {
  return slab.holder.has_value() && slab.granted == 0;
}

[[nodiscard]] std::string_view to_string(SlabState state) noexcept;
[[nodiscard]] std::string_view to_string(ClientState state) noexcept;
[[nodiscard]] std::string_view to_string(EventKind kind) noexcept;
[[nodiscard]] std::string to_string(const SlabId& id);  // "<producer>/<index>"

// Leased, suspect, revoking or orphaned: somebody may be reading and writing it.
[[nodiscard]] constexpr bool is_held(SlabState state) noexcept {
  return state == SlabState::leased || state == SlabState::suspect ||
         state == SlabState::revoking || state == SlabState::orphaned;
}

}  // namespace aqua::ledger
