// SPDX-License-Identifier: Apache-2.0
// Clients of a ledger, for tests of what is built on it.
#pragma once

#include <gtest/gtest.h>

#include "coordinator/service/ledger_service.hpp"

namespace aqua::testing {

inline ledger::ClientInfo some_client(bool producer) {
  ledger::ClientInfo info;
  info.id = random_id<ClientTag>();
  info.device = random_id<DeviceTag>();
  info.server = "here";
  info.domain = "here";
  info.producer = producer;
  info.consumer = !producer;
  return info;
}

// Another client, which has joined.
inline ClientId join_ledger(coordinator::LedgerService& service, bool producer = false) {
  const ledger::ClientInfo info = some_client(producer);
  const auto joined = service.with(
      [&](ledger::Ledger& ledger, ledger::Time now) { return ledger.join(info, now); });
  EXPECT_TRUE(joined.ok()) << joined.error().message;
  return info.id;
}

}  // namespace aqua::testing
