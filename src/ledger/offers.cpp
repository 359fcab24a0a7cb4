// SPDX-License-Identifier: Apache-2.0
// Offers: what exporters say of their slabs (offer, withdraw, scrubbed).
//
// Every call checks all of its slabs before it changes the first, so that a refusal changes
// nothing.
#include <set>

#include "base/concat.hpp"
#include "base/shares.hpp"
#include "base/try.hpp"
#include "ledger/ledger.hpp"

namespace aqua::ledger {
namespace {

// The highest generation that may be offered: far enough from the end that no scrub wraps it.
constexpr Generation kMaxOfferedGeneration = Generation{1} << 62;

SlabEvent kind_of(const OfferedSlab& slab) {
  return slab.holder ? SlabEvent::redeclare : SlabEvent::offer;
}

bool agrees(const Slab& row, const OfferedSlab& slab) {
  return row.bytes == slab.bytes && row.generation == slab.generation &&
         row.holder == slab.holder && same_secret(row.secret, slab.secret);
}

Error refusal(Code code, std::string_view operation, const Slab& row) {
  return Error{code, concat(operation, ": slab ", to_string(row.id), " generation ", row.generation,
                            " is ", to_string(row.state))};
}

}  // namespace

Result<Client*> Ledger::known(const ClientId& id, std::string_view operation) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) {
    return Error{Code::not_found, concat(operation, ": no client ", to_string(id))};
  }
  if (found->second.restored) {
    return Error{Code::not_found, concat(operation, ": client ", to_string(id),
                                         " has not joined since the coordinator began anew")};
  }
  return &found->second;
}

Result<void> Ledger::check_offer(const ClientId& producer, const OfferedSlab& slab) const {
  const SlabId id{producer, slab.index};
  if (slab.bytes == 0 || slab.bytes > limits_.max_slab_bytes) {
    return Error{Code::invalid_argument, concat("offer: slab ", to_string(id), " has ", slab.bytes,
                                                " bytes, not 1 to ", limits_.max_slab_bytes)};
  }
  if (slab.generation == 0 || slab.generation > kMaxOfferedGeneration) {
    return Error{Code::invalid_argument,
                 concat("offer: slab ", to_string(id), " has generation ", slab.generation)};
  }
  if (slab.holder && (slab.holder->is_nil() || *slab.holder == producer)) {
    return Error{Code::invalid_argument, concat("offer: slab ", to_string(id),
                                                " cannot be held by ", to_string(*slab.holder))};
  }
  const auto row = slabs_.find(id);
  if (row == slabs_.end()) return {};
  const Outcome outcome = transition(row->second.state, kind_of(slab), row->second.reclaim != 0);
  if (!outcome.accepted) return refusal(outcome.refusal, "offer", row->second);
  if (!agrees(row->second, slab)) return refusal(Code::already_exists, "offer", row->second);
  return {};
}

// Whether the client, its process, its user and all clients together may put up `more` slabs.
// A process or a user that is not known has no share.
Result<void> Ledger::check_room(const ClientInfo& producer, std::size_t more) const {
  std::size_t of_process = 0;
  std::size_t of_user = 0;
  for (const auto& [id, client] : clients_) {
    const ClientInfo& info = client.info;
    const std::size_t rows = index_.producer(id).rows;
    if (info.pid == producer.pid && info.started == producer.started) of_process += rows;
    if (info.uid == producer.uid) of_user += rows;
  }
  const auto check = [&](std::string_view whose, std::size_t rows,
                         std::size_t most) -> Result<void> {
    if (rows + more <= most) return {};
    return Error{Code::resource_exhausted, concat("offer: ", more, " slabs on top of ", rows,
                                                  " of ", whose, ", at most ", most)};
  };
  AQUA_TRY(check("this client", index_.producer(producer.id).rows, limits_.max_slabs_per_client));
  AQUA_TRY(check("all clients", slabs_.size(), limits_.max_slabs));
  if (producer.pid != 0)
    AQUA_TRY(check("this process", of_process, share_of_process(limits_.max_slabs)));
  if (producer.uid != kUnknownUser)
    AQUA_TRY(check("this user", of_user, share_of_user(limits_.max_slabs)));
  return {};
}

Result<void> Ledger::offer(const ClientId& producer, const std::vector<OfferedSlab>& slabs,
                           Time now) {
  advance(now);
  AQUA_ASSIGN(Client * client, known(producer, "offer"));
  if (!client->info.producer) {
    return Error{Code::failed_precondition,
                 concat("offer: client ", to_string(producer), " did not join as a producer")};
  }
  std::set<std::uint32_t> fresh;
  std::set<std::uint32_t> seen;
  std::uint64_t total = index_.total_bytes();
  for (const OfferedSlab& slab : slabs) {
    AQUA_TRY(check_offer(producer, slab));
    if (!seen.insert(slab.index).second) {
      return Error{Code::invalid_argument, concat("offer: slab ", slab.index, " is there twice")};
    }
    if (slabs_.contains(SlabId{producer, slab.index})) continue;
    fresh.insert(slab.index);
    if (__builtin_add_overflow(total, slab.bytes, &total)) {
      return Error{Code::resource_exhausted, "offer: more bytes in all than can be counted"};
    }
  }
  if (!fresh.empty()) AQUA_TRY(check_room(client->info, fresh.size()));

  bool more = false;
  std::set<ClientId> holders;
  for (const OfferedSlab& slab : slabs) {
    if (!fresh.contains(slab.index)) continue;
    const SlabId id{producer, slab.index};
    const Outcome outcome = transition(SlabState::returned, kind_of(slab), false);
    const Slab& row = slabs_[id] = Slab{.id = id,
                                        .bytes = slab.bytes,
                                        .state = outcome.next,
                                        .generation = slab.generation,
                                        .secret = slab.secret,
                                        .holder = slab.holder,
                                        .granted = grant_of(producer, slab)};
    index_.add(row);
    changed(id);
    note(row, kind_of(slab), SlabState::returned, row.holder);
    more = more || row.state == SlabState::offered;
    if (row.holder) holders.insert(*row.holder);
  }
  for (const ClientId& holder : holders) restore_pair(holder);
  if (more) announce(producer);
  return {};
}

Result<void> Ledger::withdraw(const ClientId& producer, const std::vector<std::uint32_t>& indexes,
                              Time now) {
  advance(now);
  AQUA_TRY(known(producer, "withdraw"));
  std::set<std::uint32_t> seen;
  for (const std::uint32_t index : indexes) {
    const SlabId id{producer, index};
    if (!seen.insert(index).second) {
      return Error{Code::invalid_argument, concat("withdraw: slab ", index, " is there twice")};
    }
    const Slab* row = find(id);
    if (row == nullptr) {
      return Error{Code::not_found, concat("withdraw: no slab ", to_string(id))};
    }
    const Outcome outcome = transition(row->state, SlabEvent::withdraw, row->reclaim != 0);
    if (!outcome.accepted) return refusal(outcome.refusal, "withdraw", *row);
  }
  for (const std::uint32_t index : indexes) {
    apply(slabs_.at(SlabId{producer, index}), SlabEvent::withdraw);
  }
  return {};
}

Result<SlabState> Ledger::scrubbed(const ClientId& producer, std::uint32_t index, Generation done,
                                   LeaseSecret next_secret, Time now) {
  const Scrub slab{.index = index, .done = done, .next_secret = next_secret};
  return std::move(scrubbed(producer, {&slab, 1}, now).front());
}

std::vector<Result<SlabState>> Ledger::scrubbed(const ClientId& producer,
                                                std::span<const Scrub> slabs, Time now) {
  advance(now);
  std::vector<Result<SlabState>> results;
  results.reserve(slabs.size());
  bool more = false;
  for (const Scrub& slab : slabs) {
    const Result<SlabState>& state = results.emplace_back(end_generation(producer, slab));
    more = more || (state.ok() && *state == SlabState::offered);
  }
  if (more) announce(producer);
  return results;
}

// Does the work of scrubbed() for one slab, but for telling consumers.
Result<SlabState> Ledger::end_generation(const ClientId& producer, const Scrub& slab) {
  AQUA_TRY(known(producer, "scrubbed"));
  const SlabId id{producer, slab.index};
  Slab* row = find(id);
  if (row == nullptr) return Error{Code::not_found, concat("scrubbed: no slab ", to_string(id))};
  if (row->generation != slab.done) {
    return Error{Code::aborted, concat("scrubbed: slab ", to_string(id), " is at generation ",
                                       row->generation, ", not ", slab.done)};
  }
  const Outcome outcome = transition(row->state, SlabEvent::scrub, row->reclaim != 0);
  if (!outcome.accepted) return refusal(outcome.refusal, "scrubbed", *row);
  ++row->generation;
  row->secret = slab.next_secret;
  return apply(*row, SlabEvent::scrub);
}

}  // namespace aqua::ledger
