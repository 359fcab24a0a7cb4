// SPDX-License-Identifier: Apache-2.0
// Restore: a ledger made from what an earlier coordinator wrote down.
//
// Nothing restored is grantable. Every holder is suspect, since the file says who held a slab and
// not who lives; every producer declares its slabs anew when it joins.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/concat.hpp"
#include "ledger/ledger.hpp"

namespace aqua::ledger {

Result<Ledger> Ledger::restore(Limits limits, const Image& image, Time now) {
  Ledger ledger(limits);
  const auto broken = [](const std::string& what) {
    return Error{Code::data_loss, concat("restore: what was written down does not fit: ", what)};
  };
  for (const auto& [info, draining] : image.clients) {
    Client client{
        .info = info, .state = ClientState::suspect, .restored = true, .draining = draining};
    if (!ledger.clients_.emplace(info.id, std::move(client)).second)
      return broken(concat("client ", to_string(info.id), " is there twice"));
  }
  for (const Reclaim& written : image.reclaims) {
    Reclaim& reclaim = ledger.reclaims_[written.id] = written;
    reclaim.outstanding.clear();
    // Moves the deadline: a clock that stands behind the earlier one must not make a reclaim
    // longer.
    if (reclaim.deadline > reclaim.started)
      reclaim.deadline = std::min(reclaim.deadline, now + (reclaim.deadline - reclaim.started));
    ledger.last_reclaim_ = std::max(ledger.last_reclaim_, reclaim.id);
    (reclaim.done ? ledger.ended_reclaims_ : ledger.open_reclaims_)[reclaim.producer].insert(
        reclaim.id);
    if (!reclaim.done) {
      ledger.timers_.arm({TimerKind::reclaim, reclaim.producer, reclaim.id}, reclaim.deadline);
    }
  }
  for (const Slab& written : image.slabs) {
    // Checks what the index relies on before it is used; check_invariants() below finds the rest.
    if (is_held(written.state) != written.holder.has_value())
      return broken(concat("slab ", to_string(written.id), ": holder does not fit state"));
    Slab& row = ledger.slabs_[written.id] = written;
    if (is_held(row.state) && row.state != SlabState::orphaned) row.state = SlabState::suspect;
    if (const auto by = ledger.reclaims_.find(row.reclaim); by != ledger.reclaims_.end())
      by->second.outstanding.insert(row.id);
    ledger.last_grant_ = std::max(ledger.last_grant_, row.granted);
    ledger.index_.add(row);
  }
  for (const Pair& pair : image.pairs) {
    const auto lender = ledger.clients_.find(pair.producer);
    const auto borrower = ledger.clients_.find(pair.consumer);
    if (lender == ledger.clients_.end() || borrower == ledger.clients_.end()) continue;
    // Drops a pair that today's options no longer allow.
    if (!ledger.can_share(lender->second.info, borrower->second.info)) continue;
    if (!limits.share_producers && !ledger.pairs_.consumers_of(pair.producer).empty()) continue;
    ledger.pairs_.set(pair.consumer, pair.producer, pair.is_explicit);
  }
  ledger.track_rows();
  if (const std::string fault = ledger.check_invariants(); !fault.empty()) return broken(fault);
  ledger.advance(now);
  return ledger;
}

// Ends the rows of a restored producer that has joined: it declares now what it exports.
void Ledger::forget_exports(const ClientId& producer) {
  drop_reclaims(producer);
  for (const SlabId& id : slabs_of(producer)) {
    const auto row = slabs_.find(id);
    const std::optional<ClientId> holder = row->second.holder;
    const SlabState from = row->second.state;
    if (holder && !is_alleged(row->second)) former_grants_[producer].emplace(id.index, row->second);
    index_.remove(row->second);
    row->second.state = SlabState::returned;
    note(row->second, SlabEvent::withdraw, from, holder);  // or it would be counted twice
    slabs_.erase(row);
    changed(id);
    if (holder) arm_lease_timer(*holder);
  }
}

// The number of the grant by which slab.holder has a slab that is declared anew; 0 where nobody but
// the producer says that it has it. What was written down is taken for true, and what a holder that
// has not joined may know better, until it joins. To be called once for each slab.
std::uint64_t Ledger::grant_of(const ClientId& producer, const OfferedSlab& slab) {
  if (const auto of = former_grants_.find(producer); of != former_grants_.end()) {
    const auto former = of->second.extract(slab.index);
    if (of->second.empty()) former_grants_.erase(of);
    if (slab.holder && !former.empty() && former.mapped().holder == slab.holder &&
        former.mapped().generation == slab.generation) {
      return former.mapped().granted;
    }
  }
  if (!slab.holder) return 0;
  const auto holder = clients_.find(*slab.holder);
  return holder == clients_.end() || holder->second.restored ? ++last_grant_ : 0;
}

void Ledger::track_rows() {
  if (!dirty_rows_) dirty_rows_.emplace();
}

DirtyRows Ledger::take_dirty_rows() {
  return dirty_rows_ ? std::exchange(*dirty_rows_, DirtyRows{}) : DirtyRows{};
}

void Ledger::changed(const SlabId& slab) {
  if (dirty_rows_) dirty_rows_->slabs.insert(slab);
}

void Ledger::changed_client(const ClientId& client) {
  if (dirty_rows_) dirty_rows_->clients.insert(client);
}

void Ledger::changed_reclaim(std::uint64_t reclaim) {
  if (dirty_rows_) dirty_rows_->reclaims.insert(reclaim);
}

void Ledger::set_pair(const ClientId& consumer, const ClientId& producer, bool is_explicit) {
  pairs_.set(consumer, producer, is_explicit);
  if (dirty_rows_) dirty_rows_->pairs.insert(consumer);
}

void Ledger::drop_pair(const ClientId& consumer) {
  if (dirty_rows_ && pairs_.producer_of(consumer)) dirty_rows_->pairs.insert(consumer);
  pairs_.erase(consumer);
}

void Ledger::restore_pairs(const PairBook& book) {
  for (const PairBook* side : std::initializer_list<const PairBook*>{&pairs_, &book}) {
    for (const auto& [consumer, producer] : side->all()) {
      if (dirty_rows_) dirty_rows_->pairs.insert(consumer);
    }
  }
  pairs_ = book;
}

}  // namespace aqua::ledger
