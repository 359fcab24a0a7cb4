// SPDX-License-Identifier: Apache-2.0
// A coordinator whose engines also have a keeper, and which is killed while they speak with that.
// Needs AQUA_COORDINATOR_PROGRAM, and a peer program that answers "coordinator".
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/base/eventually.hpp"
#include "tests/coordinator/daemon_process.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/keeper/peer_program.hpp"

namespace aqua::test {

class MortalCoordinator : public ::testing::Test {
 protected:
  using Engine = std::unique_ptr<PeerProgram>;

  // It is connected when this returns.
  [[nodiscard]] Engine start_engine() const {
    auto engine = std::make_unique<PeerProgram>(keeper_.socket(),
                                                PeerProgram::Coordinator{coordinator_.address()});
    expect_each({engine.get()}, "connected");
    return engine;
  }
  // Each comes to say so of the coordinator.
  static void expect_each(std::initializer_list<PeerProgram*> engines, const std::string& said) {
    for (PeerProgram* const engine : engines) {
      EXPECT_TRUE(eventually([&] { return engine->ask("coordinator") == said; })) << said;
    }
  }
  // Does what `words` say, stands at `step` of it while the coordinator dies, and goes on. Answers
  // what came of it, which some say before they have come to the step.
  [[nodiscard]] std::string killed_at(const std::string& step, PeerProgram& engine,
                                      const std::string& words) {
    EXPECT_EQ(engine.ask("stop-at " + step), "ok");
    engine.post(words);
    const std::string at = "at " + step;
    std::string said = engine.answer();
    const bool early = said != at;
    if (early) {
      EXPECT_EQ(engine.answer(), at);
    }
    coordinator_.kill();
    engine.post("go on");
    return early ? said : engine.answer();
  }

  aqua::testing::DaemonProcess coordinator_;
  KeeperProcess keeper_;
};

}  // namespace aqua::test
