// SPDX-License-Identifier: Apache-2.0
// One with a peer's certificate gives copies as it should not: it is told so or hung up on, and the
// keeper has nothing of it.
#include <gtest/gtest.h>

#include <vector>

#include "tests/tools/courier/hostile_visitor.hpp"

namespace aqua::courier {
namespace {

class HostileMirror : public HostileVisitor {
 protected:
  HostileMirror() { servers_.mirror(); }

  // After those of `a`, whose courier it sends away.
  [[nodiscard]] Link greeted() {
    servers_.kill_a();
    Link link = connect();
    EXPECT_TRUE(link.say(MirrorHello{}).ok());
    EXPECT_TRUE(std::holds_alternative<Welcome>(heard(link)));
    EXPECT_EQ(std::get<Held>(heard(link)), Held{});
    return link;
  }
  static Copy copy(std::uint64_t number, std::uint64_t bytes) {
    return {.number = number, .original = {1, number, 1}, .bytes = bytes};
  }
  std::size_t kept() { return list_segments(servers_.keeper_of_b().socket()).value().size(); }
};

TEST_F(HostileVisitor, CopiesAreRefusedWhereNoneAreTaken) {
  Link link = connect();
  EXPECT_TRUE(link.say(MirrorHello{}).ok());
  EXPECT_EQ(code_of(heard(link)), "permission_denied");
  Link of_another_version = connect();
  EXPECT_TRUE(of_another_version.say(MirrorHello{.version = kVersion + 1}).ok());
  EXPECT_EQ(code_of(heard(of_another_version)), "failed_precondition");
}

TEST_F(HostileMirror, WhatCannotBeIsRefusedAndTheNextIsTaken) {
  Link link = greeted();
  EXPECT_TRUE(link.say(copy(1, std::uint64_t{1} << 47)).ok());
  EXPECT_EQ(code_of(heard(link)), "resource_exhausted");
  Copy lie = copy(2, 100);
  lie.digest = {1};
  EXPECT_TRUE(link.say(lie).ok());
  EXPECT_TRUE(std::holds_alternative<Go>(heard(link)));
  EXPECT_TRUE(link.send(std::vector<std::byte>(100)).ok());
  EXPECT_EQ(code_of(heard(link)), "data_loss");
  EXPECT_EQ(kept(), 0U);
  EXPECT_TRUE(link.say(Forget{{7, 7, 7}}).ok());  // of which nobody knows
  EXPECT_TRUE(link.say(copy(3, 100)).ok());
  EXPECT_TRUE(std::holds_alternative<Go>(heard(link)));
  EXPECT_TRUE(link.send(std::vector<std::byte>(100)).ok());
  EXPECT_TRUE(std::holds_alternative<Landed>(heard(link)));
  EXPECT_EQ(kept(), 1U);
  EXPECT_TRUE(link.say(copy(3, 100)).ok());  // again
  EXPECT_TRUE(std::holds_alternative<Landed>(heard(link)));
  EXPECT_EQ(kept(), 1U);
}

TEST_F(HostileMirror, BytesThatNobodyAskedForAndCopiesAtOnceEndTheConnection) {
  for (const bool second_copy : {true, false}) {
    Link link = greeted();
    EXPECT_TRUE(link.say(copy(1, 100)).ok());
    EXPECT_TRUE(std::holds_alternative<Go>(heard(link)));
    if (second_copy) {
      EXPECT_TRUE(link.say(copy(2, 100)).ok());
    } else {
      EXPECT_TRUE(link.send(std::vector<std::byte>(101)).ok());
    }
    EXPECT_EQ(code_of(heard(link)), "invalid_argument");
    EXPECT_FALSE(link.receive().ok());
  }
  Link parcels = greeted();
  EXPECT_TRUE(parcels.say(offer(1, 100)).ok());
  EXPECT_EQ(code_of(heard(parcels)), "invalid_argument");
  EXPECT_EQ(kept(), 0U);
}

}  // namespace
}  // namespace aqua::courier
