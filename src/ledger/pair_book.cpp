// SPDX-License-Identifier: Apache-2.0
#include "ledger/pair_book.hpp"

namespace aqua::ledger {

std::optional<ClientId> PairBook::producer_of(const ClientId& consumer) const {
  const auto found = producer_of_.find(consumer);
  if (found == producer_of_.end()) return std::nullopt;
  return found->second;
}

const std::set<ClientId>& PairBook::consumers_of(const ClientId& producer) const {
  static const std::set<ClientId> nobody;
  const auto found = consumers_of_.find(producer);
  return found == consumers_of_.end() ? nobody : found->second;
}

bool PairBook::is_explicit(const ClientId& consumer) const {
  return explicit_.contains(consumer);
}

void PairBook::set(const ClientId& consumer, const ClientId& producer, bool is_explicit) {
  erase(consumer);
  producer_of_.emplace(consumer, producer);
  consumers_of_[producer].insert(consumer);
  if (is_explicit) explicit_.insert(consumer);
}

void PairBook::erase(const ClientId& consumer) {
  const auto found = producer_of_.find(consumer);
  if (found == producer_of_.end()) return;
  const auto side = consumers_of_.find(found->second);
  side->second.erase(consumer);
  if (side->second.empty()) consumers_of_.erase(side);
  producer_of_.erase(found);
  explicit_.erase(consumer);
}

bool PairBook::consistent() const {
  std::map<ClientId, std::set<ClientId>> sides;
  for (const auto& [consumer, producer] : producer_of_) sides[producer].insert(consumer);
  for (const ClientId& consumer : explicit_) {
    if (!producer_of_.contains(consumer)) return false;
  }
  return sides == consumers_of_;
}

}  // namespace aqua::ledger
