// SPDX-License-Identifier: Apache-2.0
#include "coordinator/observe/journal.hpp"

#include "base/concat.hpp"
#include "coordinator/common/log.hpp"

namespace aqua::coordinator {
namespace {

using ledger::SlabChange;
using ledger::SlabEvent;
using ledger::SlabState;

std::string_view message_of(const SlabChange& change) {
  switch (change.event) {
    case SlabEvent::offer:
      return "slabs offered";
    case SlabEvent::redeclare:
      return "slabs declared as held";
    case SlabEvent::withdraw:
      return "slabs withdrawn";
    case SlabEvent::grant:
      return "slabs leased";
    case SlabEvent::renew:
      return "holder is back";
    case SlabEvent::silence:
      return "holder is silent";
    case SlabEvent::reclaim:
      return change.to == SlabState::returned ? "slabs withdrawn by a reclaim" : "slabs revoked";
    case SlabEvent::give_back:
      return "slabs given back";
    case SlabEvent::holder_dead:
      return "holder is dead";
    case SlabEvent::producer_dead:
      return "producer is gone";
    case SlabEvent::scrub:
      return change.to == SlabState::returned ? "slabs scrubbed and returned" : "slabs scrubbed";
  }
  return "?";
}

bool same_kind(const SlabChange& a, const SlabChange& b) {
  return a.event == b.event && a.from == b.from && a.to == b.to &&
         a.slab.producer == b.slab.producer && a.holder == b.holder && a.reclaim == b.reclaim;
}

void log_reclaim(const ledger::ReclaimEnd& end) {
  const ledger::Reclaim& reclaim = end.reclaim;
  const bool whole = !end.dropped && reclaim.outstanding.empty();
  coordinator::log(
      whole ? LogLevel::info : LogLevel::warn,
      whole         ? "reclaim complete"
      : end.dropped ? "reclaim dropped, its producer is gone"
                    : "reclaim past its deadline",
      {{"reclaim", reclaim.id},
       {"producer", to_string(reclaim.producer)},
       {"bytes_wanted", reclaim.bytes_wanted},
       {"bytes_returned", reclaim.bytes_returned},
       {"outstanding", reclaim.outstanding.size()},
       {"took_ms", static_cast<std::uint64_t>((reclaim.ended - reclaim.started).count())}});
}

}  // namespace

void Journal::begin(const ledger::Ledger& ledger, ledger::Time now) {
  const MutexLock lock(mu_);
  tally_ = Tally(ledger);
  history_.add(tally_, now);
}

void Journal::note(const ledger::Changes& changes, const ledger::Ledger& ledger) {
  const MutexLock lock(mu_);
  for (const SlabChange& change : changes.slabs) {
    tally_.add(change, ledger);
    event_log_.add(change, ledger);
    metrics_.changed(change);
    if (change.to != SlabState::returned || change.reclaim == 0) continue;
    const auto reclaim = ledger.reclaims().find(change.reclaim);
    if (reclaim == ledger.reclaims().end()) continue;  // dropped with its producer
    metrics_.slab_came_back(change.at - reclaim->second.started);
  }
  for (const ledger::ReclaimEnd& end : changes.ended) {
    metrics_.reclaim_ended(end);
    if (end.dropped) continue;
    for (const ledger::SlabId& slab : end.reclaim.outstanding) {
      event_log_.add_late(slab, end.reclaim, ledger);
    }
  }
  if (!changes.slabs.empty()) history_.add(tally_, changes.slabs.back().at);
}

void Journal::log(const ledger::Changes& changes) {
  if (!is_logged(LogLevel::info)) return;
  for (auto first = changes.slabs.begin(); first != changes.slabs.end();) {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    auto end = first;
    for (; end != changes.slabs.end() && same_kind(*first, *end); ++end) {
      ++count;
      bytes += end->bytes;
    }
    Fields fields{{"producer", to_string(first->slab.producer)},
                  {"index", std::uint64_t{first->slab.index}},
                  {"slabs", count},
                  {"bytes", bytes},
                  {"state", std::string(to_string(first->to))}};
    if (first->holder) fields.push_back({"holder", to_string(*first->holder)});
    if (first->reclaim != 0) fields.push_back({"reclaim", first->reclaim});
    coordinator::log(LogLevel::info, message_of(*first), fields);
    first = end;
  }
  for (const ledger::ReclaimEnd& end : changes.ended) log_reclaim(end);
}

Tally Journal::tally() const {
  const MutexLock lock(mu_);
  return tally_;
}

std::vector<wire::Sample> Journal::samples() const {
  const MutexLock lock(mu_);
  return {history_.samples().begin(), history_.samples().end()};
}

std::optional<wire::SlabStory> Journal::story(const ledger::SlabId& slab) const {
  const MutexLock lock(mu_);
  return event_log_.story(slab);
}

}  // namespace aqua::coordinator
