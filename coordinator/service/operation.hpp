// SPDX-License-Identifier: Apache-2.0
// Operation is one caller's piece of work on the ledger, which LedgerService does by itself.
#pragma once

#include <optional>
#include <utility>

#include "aqua/result.hpp"
#include "coordinator/store/store.hpp"
#include "ledger/ledger.hpp"

namespace aqua::coordinator {

struct Operation {
  explicit Operation(bool is_promise) : promise(is_promise) {}
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  virtual void run(ledger::Ledger& ledger, ledger::Time now) = 0;
  // take_back() undoes a promise that could not be written; what was done after it has been undone
  // before. refuse() is called instead of run() while no promise can be written.
  virtual void take_back(ledger::Ledger&, ledger::Time, const Error&) {}
  virtual void refuse(const Error&) {}

  const bool promise;
  Revision revision = 0;  // in which a promise was written
};

// Runs work(ledger, now), which only reads, or records what has happened anyway.
template <typename Work>
struct Fact final : Operation {
  using Value = decltype(std::declval<Work&>()(std::declval<ledger::Ledger&>(), ledger::Time{}));

  explicit Fact(Work& work) : Operation(false), work_(work) {}
  void run(ledger::Ledger& ledger, ledger::Time now) override { value.emplace(work_(ledger, now)); }

  std::optional<Value> value;

 private:
  Work& work_;
};

// Runs work(), which returns a Result; undo(ledger, now), or with its value as well, reverts it.
template <typename Work, typename Undo>
struct Promise final : Operation {
  using Value = decltype(std::declval<Work&>()(std::declval<ledger::Ledger&>(), ledger::Time{}));

  Promise(Work& work, Undo& undo) : Operation(true), work_(work), undo_(undo) {}
  void run(ledger::Ledger& ledger, ledger::Time now) override { value.emplace(work_(ledger, now)); }
  void take_back(ledger::Ledger& ledger, ledger::Time now, const Error& why) override {
    if (!value->ok()) return;
    if constexpr (requires { undo_(ledger, now, **value); }) {
      undo_(ledger, now, **value);
    } else {
      undo_(ledger, now);
    }
    value.emplace(why);
  }
  void refuse(const Error& why) override { value.emplace(why); }

  std::optional<Value> value;

 private:
  Work& work_;
  Undo& undo_;
};

}  // namespace aqua::coordinator
