// SPDX-License-Identifier: Apache-2.0
// A keeper that is started again and again, with what systemd has of the one before. Needs
// AQUA_KEEPER_PROGRAM, AQUA_STOPPING_KEEPER and AQUA_PEER_PROGRAM.
//
// Threads: one.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "aqua/sharing/models.hpp"
#include "base/memory/memfd.hpp"
#include "systems/sharing/act/keeper_client.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/systems/sharing/fake_systemd.hpp"

namespace aqua::sharing {

class StoredWeights : public ::testing::Test {
 protected:
  StoredWeights() {
    keeper_.stop();
    start();
  }
  void start() {
    keeper_.start(systemd_.start(AQUA_KEEPER_PROGRAM " --socket " + keeper_.socket()));
    systemd_.started();
  }
  void restart() {
    keeper_.kill();
    start();
  }
  // As restart(), by a keeper that stands still at this step.
  void restart_and_stop_at(const std::string& step) {
    keeper_.kill();
    keeper_.start(systemd_.start(AQUA_STOPPING_KEEPER " " + keeper_.socket() + " " + step));
    systemd_.started();
  }
  [[nodiscard]] std::vector<ModelStatus> models() { return list_models(keeper_.socket()).value(); }
  static wire::Reply ask(KeeperClient& client, const wire::Request& request,
                         std::vector<int> fds = {}) {
    return client.call(request, fds).value().reply;
  }
  void fill_and_commit(KeeperClient& client, CopyId copy) {
    ask(client, wire::Add{.copy = copy, .bytes = {4096}}, {slab_.get()});
    ask(client, wire::Commit{.copy = copy}, {slab_.get()});
  }
  static UniqueFd sealed() {
    UniqueFd slab = create_memfd("slab");
    EXPECT_EQ(::ftruncate(slab.get(), 4096), 0);
    EXPECT_EQ(::fcntl(slab.get(), F_ADD_SEALS, kSealedForGood), 0);
    return slab;
  }

  const UniqueFd slab_ = sealed();
  aqua::testing::TempDir directory_;
  test::KeeperProcess keeper_;
  FakeSystemd systemd_{directory_ / "notify"};
};

}  // namespace aqua::sharing
