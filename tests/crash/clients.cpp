// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/clients.hpp"

#include <algorithm>

namespace aqua::crash_test {
namespace {

constexpr std::uint64_t kSlabBytes = 1;
constexpr std::size_t kMostSlabs = 12;  // of each producer
constexpr std::size_t kMostHeld = 4;
constexpr std::chrono::seconds kAnswerWithin{20};

}  // namespace

CrashClient::CrashClient(Records& records, bool producer, std::uint64_t seed)
    : records_(records), producer_(producer), random_(seed) {}

std::optional<southbound::HttpReply> CrashClient::send(const char* method,
                                                       const std::string& target,
                                                       const std::string& body) {
  const southbound::HttpRequest request{method, target, session_.welcome.secret, body};
  return southbound::http_call(wire::parse_address(address_).value(), request,
                               southbound::Clock::now() + kAnswerWithin, nullptr)
      .reply;
}

bool CrashClient::connect(Life& life) {
  address_ = life.address;
  auto interrupt = southbound::Interrupt::open();
  if (!interrupt.ok()) return false;
  auto lifeline = southbound::connect_lifeline(life.lifeline, id_, kAnswerWithin, *interrupt);
  if (!lifeline.ok()) return false;
  session_ = *std::move(lifeline);
  if (producer_) records_.joining(id_);
  wire::JoinRequest request;
  request.info.id = id_;
  request.info.name = producer_ ? "exporter" : "importer";
  request.info.device = device_;
  request.info.server = "here";
  request.info.domain = "test";
  request.info.exchange = producer_ ? "/nowhere" : "";
  request.info.producer = producer_;
  request.info.consumer = !producer_;
  const auto joined = call<wire::RenewReply>("POST", "/v1/clients", wire::encode(request));
  if (joined && !joined->ok())
    records_.broken(concat("could not join again: ", joined->error().message));
  return joined && joined->ok() && begin();
}

void CrashClient::live(Life& life) {
  bool answered = connect(life);
  while (answered && !life.over) answered = act();
  if (!answered && !life.ending)
    records_.broken(concat("the coordinator lives and does not answer ", to_string(id_)));
}

bool CrashClient::settle(Life& life) {
  return connect(life);
}

// --- the exporter -----------------------------------------------------------------------------

std::vector<lending::SlabStatus> Exporter::book() const {
  MutexLock lock(mu_);
  return book_.all();
}

bool Exporter::fetch(const ClientId& consumer, const ledger::Grant& grant) {
  MutexLock lock(mu_);
  const lending::FetchEntry entry{grant.slab.index, grant.generation, grant.secret};
  return book_.fetch(consumer, std::span(&entry, 1)).front().code == 0;
}

void Exporter::give_back(const ClientId& consumer, const ledger::Grant& grant) {
  records_.leaving(grant.slab,
                   grant.generation);  // from now on its row changes without us being asked
  MutexLock lock(mu_);
  (void)book_.give_back(consumer, grant.slab.index, grant.generation);
}

bool Exporter::begin() {
  wire::OfferRequest all;
  std::set<std::pair<SlabId, Generation>> held;
  {
    MutexLock lock(mu_);
    book_.renew_free();
    for (const lending::SlabStatus& s : book_.all()) {
      if (s.custody == lending::Custody::scrubbing) continue;
      if (s.holder) held.emplace(slab(s.index), s.generation);
      all.slabs.push_back({s.index, s.bytes, s.generation, s.secret, s.holder});
    }
  }
  records_.declaring(id(), held);
  const auto told = call<wire::Ack>("POST", "/v1/offers", wire::encode(all));
  if (!told) return false;
  for (const auto& one : all.slabs) {
    if (told->ok()) records_.offered(slab(one.index), one.generation);
  }
  records_.declared(id());
  return scrub() && reconcile();
}

bool Exporter::act() {
  switch (below(12)) {
    case 0:
    case 1:
      return put_up();
    case 2:
      return take_back();
    case 3:
      return reclaim();
    case 4:
    case 5:
      return reconcile();
    default:
      return scrub();
  }
}

bool Exporter::put_up() {
  wire::OfferRequest offer;
  {
    MutexLock lock(mu_);
    if (book_.all().size() >= kMostSlabs) return true;
    for (std::size_t n = 1 + below(3); n > 0; --n) {
      const lending::SlabStatus s = book_.add(kSlabBytes);
      offer.slabs.push_back({s.index, s.bytes, s.generation, s.secret, {}});
    }
  }
  const auto told = call<wire::Ack>("POST", "/v1/offers", wire::encode(offer));
  if (told && told->ok()) {
    for (const auto& one : offer.slabs) records_.offered(slab(one.index), one.generation);
  }
  return told.has_value();
}

bool Exporter::take_back() {
  std::optional<std::uint32_t> index;
  Generation generation = 0;
  {
    MutexLock lock(mu_);
    for (const auto& s : book_.all()) {
      if (s.custody != lending::Custody::free || below(3) != 0) continue;
      index = s.index;
      generation = s.generation;
    }
  }
  if (!index) return true;
  records_.leaving(slab(*index), generation);
  const auto told =
      call<wire::Ack>("POST", "/v1/offers/withdraw", wire::encode(wire::WithdrawRequest{{*index}}));
  if (told && told->ok()) bring_home(*index);
  return told.has_value();
}

// The coordinator has no row of it any more; if somebody has fetched it in between, the book says.
void Exporter::bring_home(std::uint32_t index) {
  MutexLock lock(mu_);
  if (book_.remove(std::span(&index, 1)).ok()) records_.gone(slab(index));
}

bool Exporter::reclaim() {
  for (const auto& s : book()) records_.leaving(slab(s.index), s.generation);  // any of them may go
  const auto told = call<wire::ReclaimReply>(
      "POST", "/v1/reclaims",
      wire::encode(wire::ReclaimRequest{kSlabBytes * (1 + below(3)), ledger::Time{20}}));
  if (!told) return false;
  if (!told->ok()) return true;
  for (const SlabId& back : (*told)->withdrawn) bring_home(back.index);
  return true;
}

bool Exporter::scrub() {
  std::vector<lending::SlabStatus> clean;
  {
    MutexLock lock(mu_);
    for (const auto& s : book_.all()) {
      if (s.custody == lending::Custody::scrubbing) clean.push_back(book_.scrubbed(s.index));
    }
  }
  return std::ranges::all_of(clean, [&](const auto& s) { return report(s); });
}

bool Exporter::report(const lending::SlabStatus& clean) {
  records_.leaving(slab(clean.index), clean.generation - 1);
  const wire::ScrubbedRequest request{{{clean.index, clean.generation - 1, clean.secret}}};
  const auto told = call<wire::ScrubbedReply>("POST", "/v1/offers/scrubbed", wire::encode(request));
  if (!told) return false;
  if (!told->ok()) return true;
  const Result<ledger::SlabState>& state = (*told)->results.front();
  if (state.ok() && *state == ledger::SlabState::returned) {
    bring_home(clean.index);
  } else if (state.ok()) {
    records_.scrubbed(slab(clean.index), clean.generation);
  } else if (state.error().code == Code::not_found) {
    const wire::OfferRequest offer{
        {{clean.index, clean.bytes, clean.generation, clean.secret, {}}}};
    return call<wire::Ack>("POST", "/v1/offers", wire::encode(offer)).has_value();
  }
  return true;
}

bool Exporter::reconcile() {
  const auto snapshot = call<wire::Snapshot>("GET", "/v1/clients/self");
  if (!snapshot) return false;
  if (!snapshot->ok()) return true;
  for (const ledger::Slab& row : (*snapshot)->own) {
    std::optional<lending::SlabStatus> known;
    {
      MutexLock lock(mu_);
      if (const auto* found = book_.find(row.id.index)) known = *found;
      if (known && row.state == ledger::SlabState::quarantined &&
          known->generation == row.generation) {
        records_.leaving(row.id, row.generation);
        (void)book_.grant_ended(row.id.index, row.generation, lending::GrantEnd::returned);
      }
    }
    if (!known) {
      if (!forget(row)) return false;
    } else if (known->generation > row.generation && known->custody == lending::Custody::free &&
               !report(*known)) {
      return false;
    }
  }
  for (const auto& s : book()) {
    const bool there = std::ranges::any_of(
        (*snapshot)->own, [&](const ledger::Slab& row) { return row.id.index == s.index; });
    if (there || s.custody == lending::Custody::scrubbing) continue;
    const wire::OfferRequest offer{{{s.index, s.bytes, s.generation, s.secret, s.holder}}};
    if (!call<wire::Ack>("POST", "/v1/offers", wire::encode(offer))) return false;
  }
  return true;
}

// A row of a slab that came home while the coordinator was away.
bool Exporter::forget(const ledger::Slab& row) {
  if (ledger::is_held(row.state)) {
    const wire::ScrubbedRequest scrub{{{row.id.index, row.generation, random_id<LeaseTag>()}}};
    if (!call<wire::ScrubbedReply>("POST", "/v1/offers/scrubbed", wire::encode(scrub)))
      return false;
  }
  return call<wire::Ack>("POST", "/v1/offers/withdraw",
                         wire::encode(wire::WithdrawRequest{{row.id.index}}))
      .has_value();
}

// --- the importer -----------------------------------------------------------------------------

// Grants that never arrived are in the snapshot; what is mapped and is not there was told to the
// exporter, who declares it.
bool Importer::begin() {
  const auto snapshot = call<wire::Snapshot>("GET", "/v1/clients/self");
  if (!snapshot) return false;
  if (!snapshot->ok()) return true;
  for (const wire::Held& held : (*snapshot)->held) {
    const bool known = std::ranges::any_of(held_, [&](const ledger::Grant& grant) {
      return grant.slab == held.grant.slab && grant.generation == held.grant.generation;
    });
    if (known) continue;
    records_.granted(id(), held.grant.slab, held.grant.generation);
    if (!take(held.grant)) return false;
  }
  return true;
}

bool Importer::act() {
  if (below(8) == 0) {
    const auto renewed = call<wire::RenewReply>("POST", "/v1/clients/self/renew");
    return renewed.has_value();
  }
  if (held_.size() >= kMostHeld || (!held_.empty() && below(2) == 0)) {
    const std::size_t at = below(held_.size());
    const ledger::Grant grant = held_[at];
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
    records_.unmapped(id(), grant.slab);
    exporters_.at(grant.slab.producer)->give_back(id(), grant);
    return give_back(grant);
  }
  return borrow();
}

bool Importer::borrow() {
  const auto reply = call<wire::LeaseReply>(
      "POST", "/v1/leases", wire::encode(wire::LeaseRequest{kSlabBytes * (1 + below(2)), 1000}));
  if (!reply) return false;
  if (!reply->ok()) return true;
  for (const ledger::Grant& grant : (*reply)->grants)
    records_.granted(id(), grant.slab, grant.generation);
  return std::ranges::all_of((*reply)->grants, [&](const auto& grant) { return take(grant); });
}

bool Importer::take(const ledger::Grant& grant) {
  if (!exporters_.at(grant.slab.producer)->fetch(id(), grant)) return give_back(grant);
  records_.mapped(id(), grant.slab);
  held_.push_back(grant);
  return true;
}

bool Importer::give_back(const ledger::Grant& grant) {
  records_.returning(grant.slab, grant.generation);
  const wire::ReturnRequest request{{{grant.slab, grant.generation}}};
  const auto told = call<wire::ReturnReply>("POST", "/v1/leases/return", wire::encode(request));
  if (told && told->ok() && (*told)->results.front().ok())
    records_.returned(grant.slab, grant.generation);
  return told.has_value();
}

}  // namespace aqua::crash_test
