// SPDX-License-Identifier: Apache-2.0
// A ledger with named clients on one server, for tests that read as sentences. Every call
// is followed by check_invariants(); a refused one must have changed nothing.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ledger/ledger.hpp"
#include "tests/ledger/dump.hpp"

namespace aqua::ledger::test {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kSlab = 64 * kMiB;
constexpr std::uint64_t kPlenty = std::uint64_t{1} << 40;

template <typename Tag>
Id128<Tag> make_id(std::uint8_t kind, std::uint64_t n) {
  Id128<Tag> id;
  id.bytes[0] = kind;
  for (std::size_t i = 0; i < 8; ++i) id.bytes[15 - i] = static_cast<std::uint8_t>(n >> (8 * i));
  return id;
}
inline ClientId client_id(std::uint64_t n) {
  return make_id<ClientTag>(0xc1, n);
}
inline LeaseSecret secret(std::uint64_t n) {
  return make_id<LeaseTag>(0x5e, n);
}

inline ClientInfo client_info(std::uint64_t n, bool producer, bool consumer) {
  ClientInfo info;
  info.id = client_id(n);
  info.name = concat("client ", n);
  info.device = make_id<DeviceTag>(0xde, n);
  info.server = "server";
  info.domain = "domain";
  info.exchange = concat("/run/", n);
  info.producer = producer;
  info.consumer = consumer;
  return info;
}

class World : public ::testing::Test {
 protected:
  explicit World(Limits limits = {}) : ledger(limits) {}

  ClientId join_producer(std::uint64_t n) { return join(client_info(n, true, false)); }
  ClientId join_consumer(std::uint64_t n) { return join(client_info(n, false, true)); }
  ClientId join(const ClientInfo& info) {
    accepted(ledger.join(info, now));
    return info.id;
  }
  // Slabs first … first + count - 1, all of `bytes`, generation 1, secret == index.
  static std::vector<OfferedSlab> slabs(std::uint32_t first, std::uint32_t count,
                                        std::uint64_t bytes = kSlab) {
    std::vector<OfferedSlab> made;
    for (std::uint32_t i = first; i < first + count; ++i) {
      made.push_back({.index = i, .bytes = bytes, .secret = secret(i), .holder = std::nullopt});
    }
    return made;
  }
  void offer(const ClientId& producer, const std::vector<OfferedSlab>& list) {
    accepted(ledger.offer(producer, list, now));
  }
  std::vector<Grant> lease(const ClientId& consumer, std::uint64_t bytes) {
    return accepted(ledger.lease(consumer, bytes, kPlenty, now));
  }
  void give_back(const ClientId& consumer, const Grant& grant) {
    accepted(ledger.give_back(consumer, grant.slab, grant.generation, now));
  }
  SlabState scrub(const SlabId& slab) {
    const Generation done = ledger.slabs().at(slab).generation;
    return accepted(ledger.scrubbed(slab.producer, slab.index, done, secret(1000 + done), now));
  }
  Ledger::ReclaimStart reclaim(const ClientId& producer, std::uint64_t bytes, Time in) {
    return accepted(ledger.reclaim(producer, bytes, now + in, now));
  }
  void pass(Time time) {
    now += time;
    ledger.advance(now);
    EXPECT_EQ(ledger.check_invariants(), "");
  }

  template <typename T>
  T accepted(Result<T> result) {
    EXPECT_EQ(ledger.check_invariants(), "");
    EXPECT_TRUE(result.ok()) << result.error().message;
    if constexpr (!std::is_void_v<T>) return result.ok() ? std::move(result).value() : T{};
  }
  // Calls, and expects exactly `code` and an unchanged ledger.
  template <typename Call>
  void refused(Code code, Call&& call) {
    ledger.advance(now);
    const std::string before = dump(ledger);
    const auto result = call();
    ASSERT_FALSE(result.ok()) << "accepted, not " << to_string(code);
    EXPECT_EQ(to_string(result.error().code), to_string(code)) << result.error().message;
    EXPECT_FALSE(result.error().message.empty());
    EXPECT_EQ(dump(ledger), before);
    EXPECT_EQ(ledger.check_invariants(), "");
  }

  // "leased", or "returned" when there is no row.
  std::string state(const SlabId& slab) const {
    const auto row = ledger.slabs().find(slab);
    const SlabState s = row == ledger.slabs().end() ? SlabState::returned : row->second.state;
    return std::string(to_string(s));
  }
  // Kinds of the events for `client` since read_all().
  std::vector<std::string> news(const ClientId& client) {
    std::vector<std::string> kinds;
    const auto events = ledger.events(client, seen).value_or(std::vector<Event>{});
    for (const Event& event : events) kinds.emplace_back(to_string(event.kind));
    return kinds;
  }
  void read_all() { seen = ledger.last_event(); }

  Ledger ledger;
  Time now{1'000'000};
  std::uint64_t seen = 0;
};

using Kinds = std::vector<std::string>;

}  // namespace aqua::ledger::test
