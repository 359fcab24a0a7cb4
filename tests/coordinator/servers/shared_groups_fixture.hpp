// SPDX-License-Identifier: Apache-2.0
// A group of two stages on two servers, which share an etcd.
//
// Needs what aqua_coordinator_test() in CMake defines.
// Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>

#include "groups/book.hpp"
#include "tests/coordinator/daemon_process.hpp"
#include "tests/coordinator/etcd/etcd_cluster.hpp"
#include "tests/coordinator/member_process.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::testing {

// A server: its coordinator.
struct Server {
  Server(const std::string& etcd, const std::string& name, const std::string& ttl)
      : daemon({"--etcd", etcd, "--server", name, "--server-ttl", ttl}) {
    EXPECT_TRUE(eventually([&] {
      const auto all = admin::fetch_servers(daemon.address());
      return all.ok() && all->fault.empty();
    }));
  }
  template <typename Is>
  [[nodiscard]] bool sees(Is&& is) const {
    return eventually([&] {
      const auto all = admin::fetch_groups(daemon.address());
      return all.ok() && all->groups.size() == 1 && is(all->groups.front());
    });
  }
  DaemonProcess daemon;
};

struct SharedGroups : ::testing::Test {
  // Servers live for ten minutes without a sign, but where b is to be taken for gone: on a machine
  // that is busy one may well be late by seconds.
  static constexpr const char* kLongMs = "600000";

  void SetUp() override { begin(1, kLongMs); }
  // With an etcd of so many members.
  void begin(std::size_t members, const std::string& ttl_of_b) {
    if (etcd_program().empty()) GTEST_SKIP() << "no etcd here: scripts/setup check";
    etcd.emplace(members);
    a.emplace(etcd->urls(), "a", kLongMs);
    b.emplace(etcd->urls(), "b", ttl_of_b);
    first.emplace(a->daemon.address(), 0);
    second.emplace(b->daemon.address(), 1);
    first->runs(1, 0);
    second->runs(1, 1);
  }
  static bool runs_in(const groups::Group& group, groups::Term term) {
    return group.state == groups::State::running && group.term == term;
  }
  std::optional<EtcdCluster> etcd;
  std::optional<Server> a, b;
  std::optional<MemberProcess> first, second;  // of a and of b
};

}  // namespace aqua::testing
