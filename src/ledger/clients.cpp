// SPDX-License-Identifier: Apache-2.0
// Clients: join, renew, fall silent, die, leave.
//
// Silence never frees a slab. Only dead(), which the caller has proof for, and leave(), which is
// refused while anything is held, end a client; both run through end_client().
#include <set>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "ledger/ledger.hpp"

namespace aqua::ledger {
namespace {

Time later(Time now, Time ttl) {
  return now > Time::max() - ttl ? Time::max() : now + ttl;
}

// True when nothing differs that a client's slabs, leases and pairs rely on. Rows of a store that
// did not know users have none.
bool same_identity(const ClientInfo& former, const ClientInfo& info) {
  return former.device == info.device && former.server == info.server &&
         former.domain == info.domain && former.producer == info.producer &&
         former.consumer == info.consumer && (former.uid == info.uid || former.uid == kUnknownUser);
}

}  // namespace

Result<void> Ledger::join(const ClientInfo& info, Time now) {
  advance(now);
  if (info.id.is_nil()) return Error{Code::invalid_argument, "join: the client id is nil"};
  const auto found = clients_.find(info.id);
  const bool restored = found != clients_.end() && found->second.restored;
  // Counts no slabs of a restored client: they end below, because it declares them anew.
  const std::size_t slabs = restored ? 0 : index_.producer(info.id).rows;
  if (found == clients_.end()) {
    if (slabs > 0) {
      return Error{Code::failed_precondition,
                   concat("join: client ", to_string(info.id), " was proven dead and ", slabs,
                          " slabs of it are still held; take a new id")};
    }
    if (clients_.size() >= limits_.max_clients) {
      return Error{Code::resource_exhausted,
                   concat("join: ", clients_.size(), " clients of at most ", limits_.max_clients)};
    }
    changed_client(info.id);
    sign_of_life(clients_.emplace(info.id, Client{.info = info}).first->second);
    restore_pair(info.id);
    return {};
  }
  const bool moved = !same_identity(found->second.info, info);
  const std::size_t leases = index_.holder(info.id).leases();
  if (moved && slabs + leases > 0) {
    return Error{Code::failed_precondition,
                 concat("join: client ", to_string(info.id),
                        " changes device, server, domain, user or roles while it has ", slabs,
                        " slabs and ", leases, " leases")};
  }
  if (restored) forget_exports(info.id);
  found->second.restored = false;
  const bool other_user = found->second.info.uid != info.uid;
  if (found->second.info != info) changed_client(info.id);
  found->second.info = info;
  sign_of_life(found->second);
  if (moved || other_user) dissolve_pairs(info.id);
  return {};
}

Result<void> Ledger::renew(const ClientId& id, Time now) {
  advance(now);
  AQUA_ASSIGN(Client * client, known(id, "renew"));
  sign_of_life(*client);
  return {};
}

Result<void> Ledger::suspect(const ClientId& id, Time now) {
  advance(now);
  const auto found = clients_.find(id);
  if (found == clients_.end())
    return Error{Code::not_found, concat("suspect: no client ", to_string(id))};
  found->second.state = ClientState::suspect;
  timers_.disarm({TimerKind::client, id});
  silence_leases(id);
  return {};
}

Result<void> Ledger::dead(const ClientId& id, Time now) {
  advance(now);
  if (!clients_.contains(id) && index_.holder(id).count() == 0) {
    return Error{Code::not_found, concat("dead: no client ", to_string(id))};
  }
  end_client(id);
  return {};
}

Result<void> Ledger::leave(const ClientId& id, Time now) {
  advance(now);
  AQUA_TRY(known(id, "leave"));
  const std::size_t leases = index_.holder(id).leases();
  const std::size_t lent = index_.producer(id).held;
  if (leases + lent > 0) {
    return Error{Code::failed_precondition,
                 concat("leave: client ", to_string(id), " holds ", leases, " slabs and ", lent,
                        " of its own are held")};
  }
  end_client(id);
  return {};
}

// Marks a client live until its times to live have passed from now_, and its suspect leases leased
// again, or revoking where a reclaim wants them.
void Ledger::sign_of_life(Client& client) {
  const bool back = client.state != ClientState::live;
  const ClientId& id = client.info.id;
  client.state = ClientState::live;
  client.expires = later(now_, limits_.client_ttl);
  client.leases_expire = later(now_, limits_.lease_ttl);
  timers_.arm({TimerKind::client, id}, client.expires);
  const auto suspects = index_.holder(id).suspect;
  for (const SlabId& slab : suspects) apply(slabs_.at(slab), SlabEvent::renew);
  arm_lease_timer(id);
  if (back) announce(id);
}

void Ledger::silence_leases(const ClientId& holder) {
  const auto running = index_.holder(holder).running;
  for (const SlabId& slab : running) apply(slabs_.at(slab), SlabEvent::silence);
}

// Sets the one timer that all leases of a holder share. It is armed while any of them is running.
void Ledger::arm_lease_timer(const ClientId& holder) {
  const TimerKey key{TimerKind::leases, holder};
  if (index_.holder(holder).running.empty()) return timers_.disarm(key);
  timers_.arm(key, clients_.at(holder).leases_expire);
}

void Ledger::end_client(const ClientId& id) {
  drop_reclaims(id);
  former_grants_.erase(id);
  for (const SlabId& slab : slabs_of(id)) {
    Slab& row = slabs_.at(slab);
    if (row.state == SlabState::orphaned) continue;  // since this id died before
    if (apply(row, SlabEvent::producer_dead) == SlabState::orphaned) {
      emit(EventKind::producer_gone, *row.holder, &row);
    }
  }
  for (const SlabId& slab : held_by(id)) {
    Slab& row = slabs_.at(slab);
    if (apply(row, SlabEvent::holder_dead) == SlabState::quarantined) {
      emit(EventKind::holder_dead, slab.producer, &row);
    }
  }
  timers_.disarm({TimerKind::client, id});
  if (clients_.erase(id) > 0) changed_client(id);
  dissolve_pairs(id);
}

}  // namespace aqua::ledger
