// SPDX-License-Identifier: Apache-2.0
// Copies of what another server's keeper keeps, whose bytes UCX moves.
#include <gtest/gtest.h>

#include "tests/tools/courier/mirror/mirrored.hpp"

namespace aqua {
namespace {

using testing::eventually;

class MirroredOverUcx : public test::Mirrored {
 protected:
  MirroredOverUcx() : Mirrored("ucx") {}
};

TEST_F(MirroredOverUcx, WhatIsKeptIsCopiedByteForByteUntilItIsDropped) {
  servers_.mirror();
  // The route's and the mirror's.
  EXPECT_TRUE(eventually([&] { return servers_.courier_of_a()->ask("over-ucx") == "2"; }));
  const auto a = client_of(servers_.keeper_of_a());
  const SegmentName small = a->commit(1, 1), large = a->commit(2, 25'000'001, false);
  EXPECT_TRUE(eventually([&] { return is_copied(small, 1) && is_copied(large, 2); }));
  a->say(segment_wire::Drop{small.number, small.generation});
  EXPECT_TRUE(eventually([&] { return copies() == 1; }));
  servers_.kill_a();
  servers_.start_a();
  const SegmentName later = a->commit(3, 200);
  EXPECT_TRUE(eventually([&] { return is_copied(later, 3) && is_copied(large, 2); }));
}

}  // namespace
}  // namespace aqua
