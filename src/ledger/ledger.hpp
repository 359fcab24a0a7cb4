// SPDX-License-Identifier: Apache-2.0
// Ledger knows who holds which slab. It is a pure state machine: no I/O, no clock (time is an
// argument), no thread (the caller serialises). The coordinator and the simulator run the same one.
//
// Every state x event pair is written down in docs/internals/ledger.md and tested as a table.
// What it guards: a slab has at most one holder; every message names a generation and a
// stale one is refused with aborted; a lease whose time to live ran out is suspect, never
// free; only the holder's return, or proof of its death, ends a hold, and then only the
// exporter's scrub makes the slab grantable again.
//
// Time:   every call that takes `now` first does advance(now); a `now` before the latest
//         one counts as the latest.
// Errors: invalid_argument for nonsense, not_found for a client or slab that is not known,
//         the others as said. A refused call changes nothing (but time has advanced).
// Cost:   no call looks at slabs it does not concern: logarithmic in what is known, plus
//         the slabs that change. reclaim() looks at all slabs of its producer, pairing and
//         offer() at all clients.
// Copies: are independent ledgers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "ledger/changes.hpp"
#include "ledger/events.hpp"
#include "ledger/image.hpp"
#include "ledger/pair_book.hpp"
#include "ledger/slab_index.hpp"
#include "ledger/timers.hpp"
#include "ledger/transition.hpp"
#include "ledger/types.hpp"

namespace aqua::ledger {

class Ledger {
 public:
  explicit Ledger(Limits limits = {});
  // Makes a ledger from the rows that an earlier coordinator wrote down. Their clients are suspect
  // and, until they join again, unknown to every call but dead() and suspect(). Holders keep what
  // they held. When a producer joins, its rows end, because its exporter is the authority and
  // declares them anew. Keeps them all where they are more than today's limits let in. Tracks dirty
  // rows. data_loss when the rows contradict each other.
  [[nodiscard]] static Result<Ledger> restore(Limits limits, const Image& image, Time now);

  // --- clients -------------------------------------------------------------------------
  // Joins, or joins again after a restart of either side: the same id replaces the info,
  // keeps slabs and leases, and is a sign of life like renew(). failed_precondition when
  // device, server, domain, user or roles change while it has slabs or leases, or when the id was
  // proven dead and its slabs are still held; resource_exhausted over max_clients.
  [[nodiscard]] Result<void> join(const ClientInfo& info, Time now);
  // Renews the client and every lease it holds (suspect ones become leased again, or
  // revoking when a reclaim wants them).
  [[nodiscard]] Result<void> renew(const ClientId& client, Time now);
  // The lifeline closed, but nothing proves a death: the client and its leases are suspect.
  [[nodiscard]] Result<void> suspect(const ClientId& client, Time now);
  // Proven dead (pidfd): its leases become quarantined, its offers go, its held slabs
  // become orphaned. Also accepted for a holder that never joined.
  [[nodiscard]] Result<void> dead(const ClientId& client, Time now);
  // Leaves in order. failed_precondition while it holds leases, or while slabs of its own
  // are held.
  [[nodiscard]] Result<void> leave(const ClientId& client, Time now);

  // --- producers -----------------------------------------------------------------------
  // Puts slabs up. All or nothing. already_exists if an index is known, unless the row
  // agrees (same bytes, generation, holder and secret), which is how a producer re-declares;
  // an agreeing row keeps its state. A new row with a holder is suspect until that holder
  // gives a sign of life; it may not be known yet. Where it is, and no grant to it was written
  // down either, the hold is alleged (is_alleged()). An index that was here before comes back
  // only with a generation that nobody was granted: the exporter sees to that.
  // failed_precondition when not joined as a producer; resource_exhausted over a limit.
  [[nodiscard]] Result<void> offer(const ClientId& producer, const std::vector<OfferedSlab>& slabs,
                                   Time now);
  // Takes back slabs that nobody holds. All or nothing; failed_precondition names the first
  // held one.
  [[nodiscard]] Result<void> withdraw(const ClientId& producer,
                                      const std::vector<std::uint32_t>& indexes, Time now);
  // Wants `bytes` back by `deadline`: offered slabs come back at once (listed in
  // `withdrawn`), then the cheapest leases are revoked (docs/internals/ledger.md). bytes == 0 and a
  // deadline that is not after now are invalid_argument; more than the client has put up and
  // no open reclaim wants yet means all of that. A reclaim that wants nothing more is done at
  // once. While one is open nothing of this producer is granted.
  struct ReclaimStart {
    Reclaim reclaim;
    std::vector<SlabId> withdrawn;
  };
  [[nodiscard]] Result<ReclaimStart> reclaim(const ClientId& producer, std::uint64_t bytes,
                                             Time deadline, Time now);
  // An operator's reclaim: as reclaim(), but the producer is not the caller, so each slab of
  // `withdrawn` is told to it by a `withdrawn` event.
  [[nodiscard]] Result<ReclaimStart> recall(const ClientId& producer, std::uint64_t bytes,
                                            Time deadline, Time now);
  // The exporter has scrubbed a slab that is quarantined, or that is leased, suspect or
  // revoking and whose holder it knows to be dead or to have returned it directly. `done` is
  // the generation that ended (aborted unless it is the row's); the next one, exactly one
  // more, is guarded by `next_secret`. Offered again, or returned when a reclaim wants it.
  [[nodiscard]] Result<SlabState> scrubbed(const ClientId& producer, std::uint32_t index,
                                           Generation done, LeaseSecret next_secret, Time now);
  // The same for many, each by itself and with its own result, in order. Consumers are told once
  // of all that is offered again.
  [[nodiscard]] std::vector<Result<SlabState>> scrubbed(const ClientId& producer,
                                                        std::span<const Scrub> slabs, Time now);

  // --- consumers -----------------------------------------------------------------------
  // Grants whole slabs of the paired producer until `bytes` are covered or it has no more,
  // pairing first where there is no pair yet. `exit_bytes` is what the consumer has reserved
  // in a lower tier or marked discardable, in all: its leases never exceed it. A grant is a
  // sign of life like renew().
  // unavailable when nothing is offered to this consumer now; failed_precondition when not
  // joined as a consumer, suspect (renew first), late with a reclaimed slab, or when not even
  // one slab fits exit_bytes. Client::refused remembers a consumer's refusal.
  [[nodiscard]] Result<std::vector<Grant>> lease(const ClientId& consumer, std::uint64_t bytes,
                                                 std::uint64_t exit_bytes, Time now);
  // The holder has unmapped the slab. aborted when the generation is stale,
  // permission_denied when somebody else holds it, failed_precondition when nobody does.
  [[nodiscard]] Result<void> give_back(const ClientId& consumer, const SlabId& slab,
                                       Generation generation, Time now);

  // --- pairs ---------------------------------------------------------------------------
  // Replaces the pair of the consumer and, unless producers are shared, of the producer.
  // Leases stay. Lasts until unpair(), another pair(), or the end of either side.
  // failed_precondition when the two cannot share memory or have other roles.
  [[nodiscard]] Result<void> pair(const ClientId& producer, const ClientId& consumer);
  // Ends the pair in which the client borrows; those in which it lends stay. not_found when there
  // is none.
  [[nodiscard]] Result<void> unpair(const ClientId& consumer);

  // Drains a client for an operator: its slabs are not granted and it is granted none. What is held
  // stays held. Ends by drain(client, false) or with the client.
  [[nodiscard]] Result<void> drain(const ClientId& client, bool draining);

  // Runs what time alone decides: time to live, reclaim deadlines. Call before reading.
  void advance(Time now);

  // --- being written down ---------------------------------------------------------------
  // Keeps the names of rows that change from now on, until take_dirty_rows(). A caller that never
  // takes them lets the set grow to every name.
  void track_rows();
  [[nodiscard]] bool has_dirty_rows() const noexcept {
    return dirty_rows_ && !dirty_rows_->empty();
  }
  [[nodiscard]] DirtyRows take_dirty_rows();
  // Puts the pairs back to `book`, an earlier pair_book(), to undo pair() and unpair(). Nothing
  // else may have happened in between.
  void restore_pairs(const PairBook& book);
  // The time at which advance() would next change something. nullopt when it never would.
  [[nodiscard]] std::optional<Time> next_deadline() const;

  // --- reading -------------------------------------------------------------------------
  // Events for `client` with number > after, oldest first. nullopt: `after` is older than
  // the window (or from another life), so read a snapshot and continue from last_event().
  [[nodiscard]] std::optional<std::vector<Event>> events(const ClientId& client,
                                                         std::uint64_t after) const;
  // The clients that events with number > after are for. nullopt as above.
  [[nodiscard]] std::optional<std::set<ClientId>> recipients_since(std::uint64_t after) const {
    return events_.recipients_since(after);
  }
  [[nodiscard]] std::uint64_t last_event() const noexcept { return events_.last(); }
  [[nodiscard]] const std::map<ClientId, Client>& clients() const noexcept { return clients_; }
  [[nodiscard]] const std::map<SlabId, Slab>& slabs() const noexcept { return slabs_; }
  // Bytes that a producer has put up and that are free to grant.
  [[nodiscard]] std::uint64_t offered_by(const ClientId& producer) const {
    return index_.producer(producer).free_bytes;
  }
  // The slabs that a client holds, in no order.
  [[nodiscard]] std::vector<SlabId> held_by(const ClientId& holder) const;
  // consumer -> producer
  [[nodiscard]] const std::map<ClientId, ClientId>& pairs() const noexcept { return pairs_.all(); }
  [[nodiscard]] const PairBook& pair_book() const noexcept { return pairs_; }
  // Whether the two can share memory: inside one server and NVLink domain, between two devices and
  // processes of one user, since each of them can read and write what it shares.
  [[nodiscard]] bool can_share(const ClientInfo& producer, const ClientInfo& consumer) const;
  // Open reclaims, finished ones with slabs outstanding, and the last few finished ones.
  [[nodiscard]] const std::map<std::uint64_t, Reclaim>& reclaims() const noexcept {
    return reclaims_;
  }
  // Keeps changes from now on, until take_changes(). A new ledger keeps none, so that nobody pays
  // for changes that nobody takes.
  void keep_changes() noexcept { keeps_changes_ = true; }
  // Replaces what is in `into`, and uses its memory for the next changes.
  void take_changes(Changes& into) noexcept;
  // Empty when every invariant holds; otherwise what is broken. For tests and fuzzers.
  [[nodiscard]] std::string check_invariants() const;

 private:
  // ledger.cpp: rows
  Slab* find(const SlabId& id);
  SlabState apply(Slab& row, SlabEvent event);  // the row is gone when this is `returned`
  void mark_late(Slab& row);
  void note(const Slab& row, SlabEvent event, SlabState from,
            const std::optional<ClientId>& holder);
  void emit(EventKind kind, const ClientId& to, const Slab* about = nullptr, Time deadline = {});
  [[nodiscard]] std::vector<SlabId> slabs_of(const ClientId& producer) const;

  // restore.cpp
  void forget_exports(const ClientId& producer);
  [[nodiscard]] std::uint64_t grant_of(const ClientId& producer, const OfferedSlab& slab);
  void changed(const SlabId& slab);
  void changed_client(const ClientId& client);
  void changed_reclaim(std::uint64_t reclaim);
  void set_pair(const ClientId& consumer, const ClientId& producer, bool is_explicit);
  void drop_pair(const ClientId& consumer);

  // clients.cpp
  void sign_of_life(Client& client);
  void silence_leases(const ClientId& holder);
  void arm_lease_timer(const ClientId& holder);
  void end_client(const ClientId& id);

  // offers.cpp
  [[nodiscard]] Result<Client*> known(const ClientId& id, std::string_view operation);
  [[nodiscard]] Result<void> check_offer(const ClientId& producer, const OfferedSlab& slab) const;
  [[nodiscard]] Result<void> check_room(const ClientInfo& producer, std::size_t more) const;
  [[nodiscard]] Result<SlabState> end_generation(const ClientId& producer, const Scrub& slab);

  // leases.cpp
  [[nodiscard]] Grant grant(Slab& row, const ClientId& consumer);

  // reclaims.cpp
  [[nodiscard]] std::vector<SlabId> choose(const ClientId& producer, std::uint64_t wanted) const;
  void want(Slab& row, Reclaim& reclaim);
  void settle(std::uint64_t reclaim, const SlabId& slab, std::uint64_t bytes);
  void finish(Reclaim& reclaim);
  void forget_finished(const ClientId& producer);
  void drop_reclaims(const ClientId& producer);

  // pairing.cpp
  [[nodiscard]] bool grantable(const ClientId& producer) const;
  [[nodiscard]] bool loose(const ClientId& consumer) const;
  [[nodiscard]] bool may_pair(const Client& producer, const Client& consumer) const;
  [[nodiscard]] std::optional<ClientId> producer_for(const Client& consumer) const;
  [[nodiscard]] std::string_view obstacle(const Client& producer) const;
  [[nodiscard]] std::string why_nothing(const Client& consumer) const;
  void restore_pair(const ClientId& holder);
  void dissolve_pairs(const ClientId& id);
  void announce(const ClientId& producer);
  void announce_to(const ClientId& consumer);

  // invariants.cpp
  [[nodiscard]] std::string check_rows() const;
  [[nodiscard]] std::string check_reclaims() const;
  [[nodiscard]] std::string check_timers() const;
  [[nodiscard]] std::string check_pairs() const;

  Limits limits_;
  Time now_ = Time::min();
  std::map<ClientId, Client> clients_;
  std::map<SlabId, Slab> slabs_;
  std::map<std::uint64_t, Reclaim> reclaims_;
  PairBook pairs_;
  EventWindow events_;
  Changes changes_;
  bool keeps_changes_ = false;

  SlabIndex index_;                                             // a function of slabs_
  Timers timers_;                                               // of all of the above
  std::map<ClientId, std::set<std::uint64_t>> open_reclaims_;   // of reclaims_
  std::map<ClientId, std::set<std::uint64_t>> ended_reclaims_;  // of reclaims_
  // Rows of restored producers that have joined: what these were known to lend, by index, until
  // they declare it anew.
  std::map<ClientId, std::map<std::uint32_t, Slab>> former_grants_;
  std::uint64_t last_reclaim_ = 0;
  std::uint64_t last_grant_ = 0;
  std::optional<DirtyRows> dirty_rows_;  // nullopt: nobody wants to know
};

}  // namespace aqua::ledger
