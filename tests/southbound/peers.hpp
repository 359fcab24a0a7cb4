// SPDX-License-Identifier: Apache-2.0
// Producers and consumers for tests, connected to a real coordinator.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "southbound/client.hpp"
#include "tests/base/eventually.hpp"
#include "tests/southbound/recorder.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::testing {

using test::eventually;

inline constexpr std::uint64_t kSlabBytes = 2 << 20;

inline southbound::Options options_of(const std::string& coordinator, const std::string& name,
                                      bool producer, const ClientId& id = random_id<ClientTag>()) {
  southbound::Options options;
  options.coordinator = coordinator;
  options.info.id = id;
  options.info.name = name;
  options.info.device = random_id<DeviceTag>();
  options.info.device_name = producer ? "emu:0" : "emu:1";
  options.info.domain = "test";
  options.info.exchange = producer ? "/tmp/exchange.sock" : "";
  options.info.producer = producer;
  options.info.consumer = !producer;
  options.backoff_max = std::chrono::milliseconds{200};
  return options;
}

// A client and what it was told. Joined when constructed with wait = true.
struct Peer {
  Peer(const std::string& coordinator, const std::string& name, bool producer, bool wait = true)
      : Peer(options_of(coordinator, name, producer), wait) {}
  explicit Peer(southbound::Options options, bool wait = true) : id(options.info.id) {
    auto opened = southbound::Client::open(std::move(options), heard);
    EXPECT_TRUE(opened.ok());
    client = std::move(opened).value();
    if (!wait) return;
    EXPECT_TRUE(heard.wait_snapshots(1)) << client->status().last_error;
  }

  const ClientId id;
  Recorder heard;  // outlives the client
  std::unique_ptr<southbound::Client> client;
};

inline std::vector<ledger::OfferedSlab> some_slabs(std::uint32_t count) {
  std::vector<ledger::OfferedSlab> slabs(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    slabs[i].index = i;
    slabs[i].bytes = kSlabBytes;
    slabs[i].secret = random_id<LeaseTag>();
  }
  return slabs;
}

// Waits until renewals have moved the end of client `id` by `lives`. False where it was ever
// suspect or gone meanwhile, where the coordinator did not answer, or after 60 seconds.
inline bool stays_live(const std::string& coordinator, const ClientId& id,
                       std::chrono::milliseconds lives) {
  std::optional<ledger::Time> first;
  bool live = true;
  return eventually([&] {
           const auto state = admin::fetch_state(coordinator);
           live = false;
           if (!state.ok()) return true;
           for (const ledger::Client& client : state->clients) {
             if (client.info.id != id || client.state != ledger::ClientState::live) continue;
             live = true;
             if (!first) first = client.expires;
             return client.expires >= *first + lives;
           }
           return true;
         }) &&
         live;
}

}  // namespace aqua::testing
