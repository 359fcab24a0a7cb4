// SPDX-License-Identifier: Apache-2.0
// Checks what is true after every call. Each check names the facts that are kept twice and
// disagree.
#include "base/concat.hpp"
#include "ledger/ledger.hpp"

namespace aqua::ledger {

std::string Ledger::check_invariants() const {
  for (const auto& [id, client] : clients_) {
    if (client.info.id != id) return concat("client ", to_string(id), ": filed under another id");
  }
  for (const std::string& broken :
       {check_rows(), check_reclaims(), check_timers(), check_pairs(), events_.check()}) {
    if (!broken.empty()) return broken;
  }
  return "";
}

std::string Ledger::check_rows() const {
  SlabIndex index;
  for (const auto& [id, row] : slabs_) {
    const auto broken = [&slab = row](std::string_view what) {
      return concat("slab ", to_string(slab.id), " ", to_string(slab.state), ": ", what);
    };
    if (row.id != id) return broken("filed under another id");
    if (row.state == SlabState::returned) return broken("still has a row");
    if (is_held(row.state) != row.holder.has_value()) return broken("holder does not fit state");
    if (row.holder == id.producer) return broken("held by its producer");
    if (row.generation == 0 || row.bytes == 0) return broken("no generation or no bytes");
    if ((row.state == SlabState::orphaned) == clients_.contains(id.producer)) {
      return broken("orphaned and producer known, or neither");
    }
    if (row.state == SlabState::revoking && row.reclaim == 0) return broken("by no reclaim");
    const bool may_be_wanted = row.state == SlabState::suspect ||
                               row.state == SlabState::revoking ||
                               row.state == SlabState::quarantined;
    if (row.reclaim != 0 && !may_be_wanted) return broken("wanted in this state");
    const bool running = row.state == SlabState::leased || row.state == SlabState::revoking;
    if (running && !clients_.contains(*row.holder)) return broken("runs for an unknown holder");
    if (running && clients_.at(*row.holder).leases_expire <= now_) return broken("is overdue");
    if (row.late && (!row.holder || row.reclaim == 0)) return broken("late for nobody");
    if (row.late && is_alleged(row)) return broken("late, and nobody granted it");
    if (row.granted > last_grant_) return broken("granted in the future");
    index.add(row);
  }
  return index == index_ ? "" : "slabs: index differs from rows";
}

std::string Ledger::check_reclaims() const {
  std::map<std::uint64_t, std::set<SlabId>> wanted;
  for (const auto& [id, row] : slabs_) {
    if (row.reclaim == 0) continue;
    wanted[row.reclaim].insert(id);
    const auto by = reclaims_.find(row.reclaim);
    if (by == reclaims_.end()) return concat("slab ", to_string(id), ": unknown reclaim");
    if (by->second.producer != id.producer) return concat("slab ", to_string(id), ": not its own");
    if (by->second.done && row.holder && !row.late && !is_alleged(row))
      return concat(to_string(id), ": not late");
  }
  std::map<ClientId, std::set<std::uint64_t>> open;
  std::map<ClientId, std::set<std::uint64_t>> ended;
  for (const auto& [id, reclaim] : reclaims_) {
    const auto broken = [number = id](std::string_view what) {
      return concat("reclaim ", number, ": ", what);
    };
    if (reclaim.id != id || id > last_reclaim_) return broken("misfiled");
    if (!clients_.contains(reclaim.producer)) return broken("its producer is gone");
    if (wanted[id] != reclaim.outstanding) return broken("outstanding differs from rows");
    (reclaim.done ? ended : open)[reclaim.producer].insert(id);
    if (reclaim.done) continue;
    if (reclaim.outstanding.empty()) return broken("open and nothing outstanding");
    if (reclaim.deadline <= now_) return broken("open past its deadline");
    std::uint64_t covered = reclaim.bytes_returned;
    if (covered >= reclaim.bytes_wanted) return broken("open and satisfied");
    for (const SlabId& slab : reclaim.outstanding) covered += slabs_.at(slab).bytes;
    if (covered < reclaim.bytes_wanted) return broken("covers less than it wants");
  }
  return open == open_reclaims_ && ended == ended_reclaims_ ? "" : "reclaims: index differs";
}

std::string Ledger::check_timers() const {
  Timers timers;
  for (const auto& [id, client] : clients_) {
    if (client.state == ClientState::live) timers.arm({TimerKind::client, id}, client.expires);
  }
  for (const auto& [id, holder] : index_.holders()) {
    if (holder.running.empty()) continue;
    timers.arm({TimerKind::leases, id}, clients_.at(id).leases_expire);
  }
  for (const auto& [id, reclaim] : reclaims_) {
    if (!reclaim.done) timers.arm({TimerKind::reclaim, reclaim.producer, id}, reclaim.deadline);
  }
  if (timers != timers_) return "timers: differ from what is due";
  const auto next = timers.next();
  return next && next->first <= now_ ? "timers: overdue" : "";
}

std::string Ledger::check_pairs() const {
  if (!pairs_.consistent()) return "pairs: the two sides differ";
  for (const auto& [consumer, producer] : pairs_.all()) {
    const auto broken = [&id = consumer](std::string_view what) {
      return concat("pair of ", to_string(id), ": ", what);
    };
    const auto lender = clients_.find(producer);
    const auto borrower = clients_.find(consumer);
    if (lender == clients_.end() || borrower == clients_.end()) return broken("unknown client");
    const ClientInfo& from = lender->second.info;
    const ClientInfo& to = borrower->second.info;
    if (!from.producer || !to.consumer) return broken("roles");
    if (!limits_.share_device && from.device == to.device) return broken("one device");
    if (from.server != to.server || from.domain != to.domain) return broken("cannot share");
    if (from.uid != to.uid) return broken("two users");
    if (!limits_.share_producers && pairs_.consumers_of(producer).size() > 1) {
      return broken("its producer has another consumer");
    }
  }
  return "";
}

}  // namespace aqua::ledger
