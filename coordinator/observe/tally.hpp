// SPDX-License-Identifier: Apache-2.0
// Tally counts slabs by state, and what each pair of clients lends, change by change: a reader
// never walks the ledger, however many slabs there are.
//
// Threads: the caller serialises.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/ids.hpp"
#include "ledger/ledger.hpp"

namespace aqua::coordinator {

struct Sum {
  std::uint64_t slabs = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Sum&, const Sum&) = default;
};

struct Loan : Sum {
  std::string producer;  // names, as they were when it began
  std::string consumer;
  friend bool operator==(const Loan&, const Loan&) = default;
};

class Tally {
 public:
  using Pair = std::pair<ClientId, ClientId>;  // producer, holder

  Tally() = default;
  // Counts a ledger that has slabs already.
  explicit Tally(const ledger::Ledger& ledger);

  // `ledger` is asked for names only.
  void add(const ledger::SlabChange& change, const ledger::Ledger& ledger);

  // The sum over the slabs in a state. `returned` has none, since it is no state of a row.
  [[nodiscard]] const Sum& of(ledger::SlabState state) const {
    return states_[static_cast<std::size_t>(state)];
  }
  // Held slabs, orphans included. Not those that only their producer says are held (is_alleged()).
  [[nodiscard]] const std::map<Pair, Loan>& loans() const noexcept { return loans_; }

 private:
  void enter(const ledger::SlabChange& change, const ledger::Ledger& ledger);
  void leave(const ledger::SlabChange& change);

  std::array<Sum, ledger::kSlabStates.size()> states_{};
  std::map<Pair, Loan> loans_;
};

// The name of a client that is there; "" of one that is gone.
[[nodiscard]] std::string name_of(const ledger::Ledger& ledger, const ClientId& client);

}  // namespace aqua::coordinator
