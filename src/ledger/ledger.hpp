// Who holds which slab: a pure state machine. No I/O, no clock (time is an argument), no
// thread (the caller serialises). The coordinator's truth and the simulator's model.
//
// Every state x event pair is written down in docs/ledger.md and tested as a table.
// What it guards (design rules 2 and 3): a slab has at most one holder; every message
// names a generation and a stale one is refused with aborted; a lease whose time to live
// ran out is suspect, never free; only the holder's return, or proof of its death, ends a
// hold, and then only the exporter's scrub makes the slab grantable again.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "base/ids.hpp"

namespace aqua::ledger {

using Time = std::chrono::milliseconds;  // since any fixed origin, never decreasing

// A slab is named by who exports it and by its number there; the number is never reused
// during the life of that client.
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
  returned,     // back with the producer; the row is about to be dropped
};

enum class ClientState : std::uint8_t {
  live,
  suspect,  // silent past its time to live, or its lifeline closed without proof of death
};

struct ClientInfo {
  ClientId id;
  std::string name;       // for people
  DeviceUuid device;
  std::string device_name;  // "emu:0"
  std::string server;     // boot id: memory is shared only inside one
  std::string domain;     // NVLink domain; pairs form inside one
  std::string exchange;   // path of the socket where this client's slabs are fetched; "" if none
  bool producer = false;
  bool consumer = false;
  std::int64_t pid = 0;
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
};

struct Event {
  std::uint64_t number = 0;
  EventKind kind{};
  ClientId to;
  SlabId slab;                  // where it concerns one
  Generation generation = 0;
  Time deadline{};              // revoke
  std::uint64_t reclaim = 0;    // revoke, reclaim_done
};

struct Slab {
  SlabId id;
  std::uint64_t bytes = 0;
  SlabState state = SlabState::offered;
  Generation generation = 1;
  LeaseSecret secret;
  std::optional<ClientId> holder;
  Time expires{};
  std::uint64_t reclaim = 0;  // the reclaim that wants it back; 0: none
};

struct Client {
  ClientInfo info;
  ClientState state = ClientState::live;
  Time expires{};
};

struct Reclaim {
  std::uint64_t id = 0;
  ClientId producer;
  std::uint64_t bytes_wanted = 0;
  std::uint64_t bytes_returned = 0;  // scrubbed and back with the producer
  Time started{};
  Time deadline{};
  bool done = false;                 // all back, or the deadline passed
  std::vector<SlabId> outstanding;   // still held; late returns still arrive
};

struct Limits {
  Time client_ttl{3000};
  Time lease_ttl{5000};
  std::size_t max_clients = 1024;
  std::size_t max_slabs_per_client = 65536;
  std::uint64_t max_slab_bytes = std::uint64_t{1} << 40;
  std::size_t event_window = 65536;   // older events are forgotten; readers get a snapshot
  bool share_producers = false;       // false: one producer to one consumer
};

class Ledger {
 public:
  explicit Ledger(Limits limits = {});

  // --- clients -------------------------------------------------------------------------
  // Joins, or joins again after a restart of either side: the same id replaces the info,
  // keeps slabs and leases, and makes a suspect client live.
  [[nodiscard]] Result<void> join(const ClientInfo& info, Time now);
  // Renews the client and every lease it holds (suspect ones become leased again).
  [[nodiscard]] Result<void> renew(const ClientId& client, Time now);
  // The lifeline closed, but nothing proves a death.
  [[nodiscard]] Result<void> suspect(const ClientId& client, Time now);
  // Proven dead (pidfd): its leases become quarantined, its offers go, its held slabs
  // become orphaned.
  [[nodiscard]] Result<void> dead(const ClientId& client, Time now);
  // Leaves in order. failed_precondition while it holds leases, or while slabs of its own
  // are held.
  [[nodiscard]] Result<void> leave(const ClientId& client, Time now);

  // --- producers -----------------------------------------------------------------------
  // Puts slabs up. All or nothing. already_exists if an index is known, unless the row
  // agrees (same bytes, generation and holder), which is how a producer re-declares.
  [[nodiscard]] Result<void> offer(const ClientId& producer, const std::vector<OfferedSlab>& slabs, Time now);
  // Takes back slabs that nobody holds. All or nothing; failed_precondition names the first held one.
  [[nodiscard]] Result<void> withdraw(const ClientId& producer, const std::vector<std::uint32_t>& indexes, Time now);
  // Wants `bytes` back by `deadline`: offered slabs come back at once (listed in
  // `withdrawn`), then the cheapest leases are revoked. bytes == 0 is invalid_argument;
  // more than the client has put up means all of it. A reclaim that wants nothing more is done at once.
  struct ReclaimStart {
    Reclaim reclaim;
    std::vector<SlabId> withdrawn;
  };
  [[nodiscard]] Result<ReclaimStart> reclaim(const ClientId& producer, std::uint64_t bytes, Time deadline, Time now);
  // The exporter has scrubbed a quarantined slab (or proved the holder dead itself: then
  // also one that is leased, suspect or revoking). `next` is its new generation, exactly
  // one more. Offered again, or returned when a reclaim wants it.
  [[nodiscard]] Result<SlabState> scrubbed(const ClientId& producer, std::uint32_t index, Generation done,
                                           LeaseSecret next_secret, Time now);

  // --- consumers -----------------------------------------------------------------------
  // Grants up to `bytes` in whole slabs from the paired producer, pairing first where there
  // is no pair yet. `exit_bytes` is what the consumer has reserved in a lower tier or
  // marked discardable, in all: its leases never exceed it (design rule 7).
  // unavailable when nothing can be granted now.
  [[nodiscard]] Result<std::vector<Grant>> lease(const ClientId& consumer, std::uint64_t bytes,
                                                 std::uint64_t exit_bytes, Time now);
  // The holder has unmapped the slab. aborted when the generation is stale.
  [[nodiscard]] Result<void> give_back(const ClientId& consumer, const SlabId& slab, Generation generation, Time now);

  // --- pairs ---------------------------------------------------------------------------
  [[nodiscard]] Result<void> pair(const ClientId& producer, const ClientId& consumer);
  [[nodiscard]] Result<void> unpair(const ClientId& consumer);

  // Runs what time alone decides: time to live, reclaim deadlines. Call before reading.
  void advance(Time now);
  // When advance() would next change something; nullopt: never.
  [[nodiscard]] std::optional<Time> next_deadline() const;

  // --- reading -------------------------------------------------------------------------
  // Events for `client` with number > after, oldest first. nullopt: `after` is older than
  // the window (or from another life), so read a snapshot and continue from last_event().
  [[nodiscard]] std::optional<std::vector<Event>> events(const ClientId& client, std::uint64_t after) const;
  [[nodiscard]] std::uint64_t last_event() const noexcept;
  [[nodiscard]] const std::map<ClientId, Client>& clients() const noexcept;
  [[nodiscard]] const std::map<SlabId, Slab>& slabs() const noexcept;
  [[nodiscard]] const std::map<ClientId, ClientId>& pairs() const noexcept;  // consumer -> producer
  [[nodiscard]] const std::map<std::uint64_t, Reclaim>& reclaims() const noexcept;
  // Empty when every invariant holds; otherwise what is broken. For tests and fuzzers.
  [[nodiscard]] std::string check_invariants() const;
};

}  // namespace aqua::ledger
