// SPDX-License-Identifier: Apache-2.0
// Pairs: who may borrow from whom, and who is told that there is more to borrow.
//
// A consumer has one producer at a time, and a producer one consumer unless producers are shared.
// Whenever lease() begins to have something for a consumer, that consumer is told.
#include "base/concat.hpp"
#include "base/try.hpp"
#include "ledger/ledger.hpp"

namespace aqua::ledger {
bool Ledger::can_share(const ClientInfo& producer, const ClientInfo& consumer) const {
  return producer.producer && consumer.consumer && producer.id != consumer.id &&
         producer.server == consumer.server && producer.domain == consumer.domain &&
         (limits_.share_device || producer.device != consumer.device) &&
         producer.uid == consumer.uid;
}

Result<void> Ledger::pair(const ClientId& producer, const ClientId& consumer) {
  if (producer == consumer) {
    return Error{Code::invalid_argument, concat("pair: ", to_string(consumer), " with itself")};
  }
  AQUA_ASSIGN(const Client* lender, known(producer, "pair"));
  AQUA_ASSIGN(const Client* borrower, known(consumer, "pair"));
  if (!can_share(lender->info, borrower->info)) {
    return Error{
        Code::failed_precondition,
        concat("pair: producer ", to_string(producer), " and consumer ", to_string(consumer),
               " need these roles, one server, one domain, one user and two devices"
               " (see --share-device)")};
  }
  const std::optional<ClientId> before = pairs_.producer_of(consumer);
  std::vector<ClientId> displaced;
  if (!limits_.share_producers) {
    for (const ClientId& other : pairs_.consumers_of(producer)) {
      if (other != consumer) displaced.push_back(other);
    }
  }
  for (const ClientId& other : displaced) drop_pair(other);
  set_pair(consumer, producer, true);
  for (const ClientId& other : displaced) announce_to(other);
  if (before == producer) return {};
  if (before) announce(*before);
  announce_to(consumer);
  return {};
}

Result<void> Ledger::unpair(const ClientId& consumer) {
  AQUA_TRY(known(consumer, "unpair"));
  const std::optional<ClientId> producer = pairs_.producer_of(consumer);
  if (!producer) {
    return Error{Code::not_found, concat("unpair: ", to_string(consumer), " has no pair")};
  }
  drop_pair(consumer);
  if (grantable(*producer)) {
    announce(*producer);
  } else {
    announce_to(consumer);
  }
  return {};
}

Result<void> Ledger::drain(const ClientId& id, bool draining) {
  AQUA_ASSIGN(Client * client, known(id, "drain"));
  if (client->draining == draining) return {};
  client->draining = draining;
  changed_client(id);
  if (draining) return {};
  announce(id);
  announce_to(id);
  return {};
}

// Pairs a client that still holds slabs after a coordinator's restart with their producer again.
void Ledger::restore_pair(const ClientId& holder) {
  const auto borrower = clients_.find(holder);
  if (borrower == clients_.end() || pairs_.producer_of(holder)) return;
  for (const SlabId& slab : held_by(holder)) {
    const auto lender = clients_.find(slab.producer);
    if (lender == clients_.end() || is_alleged(slabs_.at(slab))) continue;
    if (!may_pair(lender->second, borrower->second)) continue;
    return set_pair(holder, slab.producer, false);
  }
}

// Ends the pairs of a client on either side, and tells those who can now pair anew. The client may
// be gone already.
void Ledger::dissolve_pairs(const ClientId& id) {
  const std::optional<ClientId> producer = pairs_.producer_of(id);
  const std::set<ClientId> consumers = pairs_.consumers_of(id);
  drop_pair(id);
  for (const ClientId& consumer : consumers) drop_pair(consumer);
  for (const ClientId& consumer : consumers) announce_to(consumer);
  if (producer && grantable(*producer)) {
    announce(*producer);
  } else if (producer && clients_.contains(id)) {
    announce_to(id);
  }
}

bool Ledger::grantable(const ClientId& producer) const {
  const auto client = clients_.find(producer);
  return client != clients_.end() && client->second.state == ClientState::live &&
         !client->second.draining && !open_reclaims_.contains(producer) &&
         !index_.producer(producer).free.empty();
}

// True when lease() may pair this consumer: it has no pair, or one that lease() made, whose
// producer grants nothing now and of whom it holds nothing.
bool Ledger::loose(const ClientId& consumer) const {
  const std::optional<ClientId> producer = pairs_.producer_of(consumer);
  if (!producer) return true;
  return !pairs_.is_explicit(consumer) && !grantable(*producer) &&
         !index_.holder(consumer).holds_of(*producer);
}

bool Ledger::may_pair(const Client& producer, const Client& consumer) const {
  return can_share(producer.info, consumer.info) && loose(consumer.info.id) &&
         (limits_.share_producers || pairs_.consumers_of(producer.info.id).empty());
}

// Chooses whom a consumer borrows from: its own producer if that has something to grant; else, for
// a loose consumer, the unpaired producer with the most bytes to grant, and of equals the one with
// the lowest id.
std::optional<ClientId> Ledger::producer_for(const Client& consumer) const {
  if (consumer.draining) return std::nullopt;
  const std::optional<ClientId> paired = pairs_.producer_of(consumer.info.id);
  if (paired && grantable(*paired)) return paired;
  if (!loose(consumer.info.id)) return std::nullopt;
  std::optional<ClientId> best;
  std::uint64_t best_bytes = 0;
  for (const auto& [id, client] : clients_) {
    const std::uint64_t bytes = index_.producer(id).free_bytes;
    if (bytes <= best_bytes || !grantable(id) || !may_pair(client, consumer)) continue;
    best = id;
    best_bytes = bytes;
  }
  return best;
}

// Says what keeps a producer, which the consumer could share memory with, from lending to it.
std::string_view Ledger::obstacle(const Client& producer) const {
  if (producer.state != ClientState::live) return "silent";
  if (producer.draining) return "drained";
  if (open_reclaims_.contains(producer.info.id)) return "taking memory back";
  if (index_.producer(producer.info.id).free.empty()) return "with nothing free";
  return "that a pair keeps from it";
}

// Says why producer_for() finds nobody for a consumer: "of 3 lenders within reach 1 silent, 2 with
// nothing free". Who has put nothing up is no lender.
std::string Ledger::why_nothing(const Client& consumer) const {
  std::size_t all = 0;
  std::map<std::string_view, std::size_t> obstacles;
  for (const auto& [id, client] : clients_) {
    if (index_.producer(id).rows == 0 || !can_share(client.info, consumer.info)) continue;
    ++all;
    ++obstacles[obstacle(client)];
  }
  if (all == 0) return "nobody within reach lends";
  std::string said;
  for (const auto& [what, count] : obstacles)
    said += concat(said.empty() ? " " : ", ", count, " ", what);
  return concat("of ", all, all == 1 ? " lender" : " lenders", " within reach", said);
}

// Tells every consumer to whom lease() would now grant something of this producer.
void Ledger::announce(const ClientId& producer) {
  if (!grantable(producer)) return;
  const std::set<ClientId>& paired = pairs_.consumers_of(producer);
  for (const ClientId& consumer : paired) emit(EventKind::offers_available, consumer);
  if (!limits_.share_producers && !paired.empty()) return;
  const Client& lender = clients_.at(producer);
  for (const auto& [id, client] : clients_) {
    if (!paired.contains(id) && may_pair(lender, client)) emit(EventKind::offers_available, id);
  }
}

// Tells one consumer, if lease() would now grant it something of any producer.
void Ledger::announce_to(const ClientId& consumer) {
  const auto client = clients_.find(consumer);
  if (client != clients_.end() && producer_for(client->second)) {
    emit(EventKind::offers_available, consumer);
  }
}

}  // namespace aqua::ledger
