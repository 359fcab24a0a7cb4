// SPDX-License-Identifier: Apache-2.0
// Errand is what one caller of the LedgerService wants done alone with the ledger.
#pragma once

#include <optional>
#include <utility>

#include "aqua/result.hpp"
#include "coordinator/store/store.hpp"
#include "ledger/ledger.hpp"

namespace aqua::coordinator {

struct Errand {
  explicit Errand(bool is_promise) : promise(is_promise) {}
  virtual ~Errand() = default;
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;

  virtual void run(ledger::Ledger& ledger, ledger::Time now) = 0;
  // Of a promise. After run(), with nothing done since that has not been taken back: it could not
  // be written. Or instead of run(): none is given now.
  virtual void take_back(ledger::Ledger&, ledger::Time, const Error&) {}
  virtual void refuse(const Error&) {}

  const bool promise;
  Revision revision = 0;  // in which a promise was written
};

// work(ledger, now), for reading and for facts.
template <typename Work>
struct Fact final : Errand {
  using Value = decltype(std::declval<Work&>()(std::declval<ledger::Ledger&>(), ledger::Time{}));

  explicit Fact(Work& work) : Errand(false), work_(work) {}
  void run(ledger::Ledger& ledger, ledger::Time now) override { value.emplace(work_(ledger, now)); }

  std::optional<Value> value;

 private:
  Work& work_;
};

// work() returns a Result; undo(ledger, now, value), or without the value, makes it not have been.
template <typename Work, typename Undo>
struct Promise final : Errand {
  using Value = decltype(std::declval<Work&>()(std::declval<ledger::Ledger&>(), ledger::Time{}));

  Promise(Work& work, Undo& undo) : Errand(true), work_(work), undo_(undo) {}
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
