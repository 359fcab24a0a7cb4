// SPDX-License-Identifier: Apache-2.0
// Leases: what consumers are granted and give back.
//
// A consumer never holds more than it has exits for: `room` falls with every grant, and starts at
// what exit_bytes leaves beside the leases it has.
#include <algorithm>
#include <limits>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "ledger/ledger.hpp"

namespace aqua::ledger {
namespace {

using Free = std::set<std::pair<std::uint64_t, std::uint32_t>>;

// Finds the largest free slab of at most `need` bytes, or else the smallest one, and of equals the
// one with the lowest index. end() when it does not fit into `room`.
Free::const_iterator best_fit(const Free& free, std::uint64_t need, std::uint64_t room) {
  const auto above =
      free.upper_bound({std::min(need, room), std::numeric_limits<std::uint32_t>::max()});
  if (above != free.begin()) return free.lower_bound({std::prev(above)->first, 0});
  return above != free.end() && above->first <= room ? above : free.end();
}

}  // namespace

Result<std::vector<Grant>> Ledger::lease(const ClientId& consumer, std::uint64_t bytes,
                                         std::uint64_t exit_bytes, Time now) {
  advance(now);
  if (bytes == 0) return Error{Code::invalid_argument, "lease: 0 bytes"};
  AQUA_ASSIGN(Client * client, known(consumer, "lease"));
  const auto refuse = [&](Code code, const auto&... why) {
    const Error& kept =
        client->refused.emplace(LeaseRefusal{.why = {code, concat(why...)}, .at = now_}).why;
    return Error{code, concat("lease: client ", to_string(consumer), ": ", kept.message)};
  };
  if (!client->info.consumer) {
    return Error{Code::failed_precondition,
                 concat("lease: client ", to_string(consumer), ": did not join as a consumer")};
  }
  if (client->state != ClientState::live) {
    return refuse(Code::failed_precondition, "is suspect; renew first");
  }
  if (client->draining) return refuse(Code::failed_precondition, "is being drained by an operator");
  const HolderIndex& held = index_.holder(consumer);
  if (held.late > 0) {
    return refuse(Code::failed_precondition, "holds ", held.late,
                  " slabs past a reclaim's deadline; return them first");
  }
  const std::optional<ClientId> producer = producer_for(*client);
  if (!producer)
    return refuse(Code::unavailable, "nothing is offered to it now; ", why_nothing(*client));

  const Free& free = index_.producer(*producer).free;
  std::uint64_t room = exit_bytes > held.bytes ? exit_bytes - held.bytes : 0;
  if (best_fit(free, bytes, room) == free.end()) {
    return refuse(Code::failed_precondition, "has exits for ", exit_bytes, " bytes and leases of ",
                  held.bytes, "; the smallest slab offered has ", free.begin()->first);
  }

  if (pairs_.producer_of(consumer) != producer) set_pair(consumer, *producer, false);
  sign_of_life(*client);
  client->refused.reset();
  std::vector<Grant> grants;
  for (std::uint64_t need = bytes; need > 0;) {
    // Looks the producer up each time: its index is another object once its last slab is gone.
    const Free& left = index_.producer(*producer).free;
    const auto best = best_fit(left, need, room);
    if (best == left.end()) break;
    const auto [size, index] = *best;
    grants.push_back(grant(slabs_.at(SlabId{*producer, index}), consumer));
    need -= std::min(need, size);
    room -= size;
  }
  return grants;
}

Grant Ledger::grant(Slab& row, const ClientId& consumer) {
  row.holder = consumer;
  row.granted = ++last_grant_;
  apply(row, SlabEvent::grant);
  emit(EventKind::granted, row.id.producer, &row);
  return Grant{.slab = row.id,
               .bytes = row.bytes,
               .generation = row.generation,
               .secret = row.secret,
               .exchange = clients_.at(row.id.producer).info.exchange,
               .expires = clients_.at(consumer).leases_expire};
}

Result<void> Ledger::give_back(const ClientId& consumer, const SlabId& slab, Generation generation,
                               Time now) {
  advance(now);
  AQUA_TRY(known(consumer, "give_back"));
  Slab* row = find(slab);
  if (row == nullptr) return Error{Code::not_found, concat("give_back: no slab ", to_string(slab))};
  if (row->generation != generation) {
    return Error{Code::aborted, concat("give_back: slab ", to_string(slab), " is at generation ",
                                       row->generation, ", not ", generation)};
  }
  const Outcome outcome = transition(row->state, SlabEvent::give_back, row->reclaim != 0);
  if (!outcome.accepted) {
    return Error{outcome.refusal, concat("give_back: slab ", to_string(slab), " is ",
                                         to_string(row->state), ", nobody holds it")};
  }
  if (row->holder != consumer) {
    return Error{Code::permission_denied, concat("give_back: slab ", to_string(slab),
                                                 " is not held by ", to_string(consumer))};
  }
  if (apply(*row, SlabEvent::give_back) == SlabState::quarantined) {
    emit(EventKind::returned, slab.producer, row);
  }
  return {};
}

}  // namespace aqua::ledger
