// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/engine/slab_market.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tools/sim/engine/accepted.hpp"

namespace aqua::sim {
namespace {

template <typename Id>
Id numbered(std::uint8_t kind, std::uint64_t n) {
  Id id;
  id.bytes[0] = kind;
  for (std::size_t i = 0; i < 8; ++i) id.bytes[15 - i] = static_cast<std::uint8_t>(n >> (8 * i));
  return id;
}

ledger::Time ledger_time(Picos now) {
  return ledger::Time(now / (kPicosPerSecond / 1000));
}

// Nobody dies here, so that no time to live need be renewed.
ledger::Limits limits() {
  ledger::Limits all;
  all.client_ttl = all.lease_ttl = ledger::Time(std::int64_t{1} << 45);
  all.share_producers = true;
  return all;
}

ledger::ClientInfo client(ClientId id, std::uint64_t n, bool producer) {
  ledger::ClientInfo info;
  info.id = id;
  info.device = numbered<DeviceUuid>(2, n);
  info.server = info.domain = "simulated";
  info.exchange = "simulated";
  info.producer = producer;
  info.consumer = !producer;
  return info;
}

}  // namespace

SlabMarket::SlabMarket(std::uint64_t slab_bytes, double scrub_bytes_per_second,
                       std::size_t borrowers)
    : slab_bytes_(slab_bytes),
      scrub_rate_(scrub_bytes_per_second),
      ledger_(limits()),
      lender_(numbered<ClientId>(1, 1)) {
  accepted(ledger_.join(client(lender_, 1, true), ledger::Time(0)));
  for (std::uint64_t n = 2; n < borrowers + 2; ++n) {
    const auto id = numbered<ClientId>(1, n);
    accepted(ledger_.join(client(id, n, false), ledger::Time(0)));
    borrowers_.push_back(std::unique_ptr<Borrower>(new Borrower(*this, id)));
  }
}

SlabMarket::~SlabMarket() = default;

double SlabMarket::offer(double bytes, Picos now) {
  const auto count = static_cast<std::uint32_t>(bytes / static_cast<double>(slab_bytes_));
  std::vector<ledger::OfferedSlab> slabs;
  for (std::uint32_t i = 0; i < count; ++i) {
    slabs.push_back({.index = next_index_++,
                     .bytes = slab_bytes_,
                     .secret = numbered<LeaseSecret>(3, ++next_secret_),
                     .holder = std::nullopt});
  }
  if (!slabs.empty()) accepted(ledger_.offer(lender_, slabs, ledger_time(now)));
  return static_cast<double>(count) * static_cast<double>(slab_bytes_);
}

double SlabMarket::reclaim(double bytes, Picos deadline, Picos now) {
  const auto start = ledger_.reclaim(lender_, static_cast<std::uint64_t>(std::ceil(bytes)),
                                     ledger_time(deadline), ledger_time(now));
  read_events();
  if (!start.ok()) return 0;  // nothing is lent
  return static_cast<double>(start->withdrawn.size() * slab_bytes_);
}

bool SlabMarket::reclaiming() const {
  return std::any_of(ledger_.reclaims().begin(), ledger_.reclaims().end(),
                     [](const auto& entry) { return !entry.second.done; });
}

double SlabMarket::lent_bytes() const {
  return static_cast<double>(ledger_.slabs().size() * slab_bytes_);
}

double SlabMarket::leased_bytes() const {
  return static_cast<double>(leased() * slab_bytes_);
}

std::size_t SlabMarket::leased() const {
  std::size_t all = 0;
  for (const auto& one : borrowers_) all += one->held_.size() + one->revoked_.size();
  return all;
}

void SlabMarket::Borrower::use(double bytes, Picos now) {
  if (bytes <= usable_) return;
  constexpr std::uint64_t kPlenty = std::uint64_t{1} << 50;  // of host memory to fall back to
  const auto grants = market_.ledger_.lease(
      id_, static_cast<std::uint64_t>(std::ceil(bytes - usable_)), kPlenty, ledger_time(now));
  if (!grants.ok()) return;
  for (const ledger::Grant& grant : *grants) held_.insert(grant.slab);
  usable_ = static_cast<double>(held_.size() * market_.slab_bytes_);
}

double SlabMarket::Borrower::reachable_bytes() const {
  if (market_.reclaiming()) return usable_;
  const std::size_t offered =
      market_.ledger_.slabs().size() - market_.leased() - market_.scrubs_.size();
  return usable_ + static_cast<double>(offered * market_.slab_bytes_);
}

void SlabMarket::Borrower::settle(double bytes, Picos now) {
  // What is in a revoked slab has moved when the others hold all there is.
  if (bytes > usable_) return;
  for (const ledger::SlabId& slab : std::exchange(revoked_, {})) {
    market_.give_back(id_, slab, now);
  }
}

void SlabMarket::give_back(ClientId borrower, const ledger::SlabId& slab, Picos now) {
  const ledger::Generation generation = ledger_.slabs().at(slab).generation;
  accepted(ledger_.give_back(borrower, slab, generation, ledger_time(now)));
  scrubber_free_ =
      std::max(scrubber_free_, now) + picos(static_cast<double>(slab_bytes_) / scrub_rate_);
  scrubs_.insert({scrubber_free_, slab, generation});
}

Picos SlabMarket::next_change() const {
  return scrubs_.empty() ? kNever : scrubs_.begin()->done;
}

void SlabMarket::advance(Picos now) {
  while (!scrubs_.empty() && scrubs_.begin()->done <= now) {
    const Scrub scrub = *scrubs_.begin();
    scrubs_.erase(scrubs_.begin());
    (void)accepted(ledger_.scrubbed(lender_, scrub.slab.index, scrub.generation,
                                    numbered<LeaseSecret>(3, ++next_secret_), ledger_time(now)));
  }
  ledger_.advance(ledger_time(now));
  read_events();
}

void SlabMarket::read_events() {
  for (const auto& one : borrowers_) one->read_events();
}

void SlabMarket::Borrower::read_events() {
  const auto events = market_.ledger_.events(id_, seen_);
  if (events) {
    for (const ledger::Event& event : *events) {
      if (event.kind != ledger::EventKind::revoke) continue;
      if (held_.erase(event.slab) != 0) revoked_.insert(event.slab);
    }
  }
  seen_ = market_.ledger_.last_event();
  usable_ = static_cast<double>(held_.size() * market_.slab_bytes_);
}

}  // namespace aqua::sim
