// SPDX-License-Identifier: Apache-2.0
// PairBook knows which consumer borrows from which producer, looked up from both sides.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "ledger/types.hpp"

namespace aqua::ledger {

class PairBook {
 public:
  [[nodiscard]] std::optional<ClientId> producer_of(const ClientId& consumer) const;
  [[nodiscard]] const std::set<ClientId>& consumers_of(const ClientId& producer) const;
  // True for a pair made by Ledger::pair() and not by lease(): only unpair() or another pair() ends
  // it while both sides are there.
  [[nodiscard]] bool is_explicit(const ClientId& consumer) const;
  [[nodiscard]] const std::map<ClientId, ClientId>& all() const noexcept { return producer_of_; }

  // Replaces the consumer's pair, if any.
  void set(const ClientId& consumer, const ClientId& producer, bool is_explicit);
  void erase(const ClientId& consumer);  // no effect on one without a pair
  // True when both directions say the same.
  [[nodiscard]] bool consistent() const;

 private:
  std::map<ClientId, ClientId> producer_of_;
  std::map<ClientId, std::set<ClientId>> consumers_of_;
  std::set<ClientId> explicit_;
};

}  // namespace aqua::ledger
