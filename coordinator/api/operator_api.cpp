// SPDX-License-Identifier: Apache-2.0
#include <new>
#include <optional>

#include "base/try.hpp"
#include "coordinator/api/api.hpp"
#include "coordinator/service/snapshot.hpp"

namespace aqua::coordinator {

using ledger::Ledger;
using ledger::Time;

namespace {

// Written through to the disk, or undone.
template <typename Change>
Result<void> change_pairs(Api& api, Change&& change) {
  ledger::PairBook before;
  return api.service.promise(
      Survives::host,
      [&](Ledger& ledger, Time) {
        before = ledger.pair_book();
        return change(ledger);
      },
      [&](Ledger& ledger, Time) { ledger.restore_pairs(before); });
}

}  // namespace

wire::Info info(Api& api) {
  const ledger::Limits& limits = api.service.limits();
  return {.epoch = api.service.epoch(),
          .version = api.version,
          .server = api.server,
          .host = api.host,
          .lifeline = api.lifeline,
          .client_ttl = limits.client_ttl,
          .lease_ttl = limits.lease_ttl};
}

SharedText::Text state_text(Api& api) {
  return api.states.get([&] {
    const auto state = api.service.with([&](Ledger& ledger, Time) -> std::optional<wire::State> {
      try {
        return state_of(ledger, api.service.epoch());
      } catch (const std::bad_alloc&) {
        return std::nullopt;  // nothing is changed here, and others go on
      }
    });
    if (!state) throw std::bad_alloc();
    return wire::encode(*state, LedgerService::now());
  });
}

wire::Pairs pairs(Api& api) {
  return api.service.with([&](Ledger& ledger, Time) {
    wire::Pairs all{.epoch = api.service.epoch(), .pairs = {}};
    for (const auto& [consumer, producer] : ledger.pairs())
      all.pairs.push_back({producer, consumer});
    return all;
  });
}

Result<wire::Ack> pair(Api& api, const wire::PairRequest& request) {
  AQUA_TRY(change_pairs(api, [&](Ledger& ledger) {
    return ledger.pair(request.pair.producer, request.pair.consumer);
  }));
  return wire::Ack{api.service.epoch()};
}

Result<wire::Ack> unpair(Api& api, const ClientId& consumer) {
  AQUA_TRY(change_pairs(api, [&](Ledger& ledger) { return ledger.unpair(consumer); }));
  return wire::Ack{api.service.epoch()};
}

}  // namespace aqua::coordinator
