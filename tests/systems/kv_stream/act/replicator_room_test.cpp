// SPDX-License-Identifier: Apache-2.0
// What a Replicator takes of the keeper's memory, where there is room for few packs.
#include <gtest/gtest.h>

#include <future>

#include "tests/systems/kv_stream/act/replicas_fixture.hpp"

namespace aqua {
namespace {

using test::Ids;
using test::ids_of;
using test::ReplicaStage;
using test::value_of;

class ReplicatorRoom : public test::ReplicasFixture {
 protected:
  // One process has half of it: four packs, of which two are kept ready.
  ReplicatorRoom() {
    keeper_.kill();
    keeper_.start(
        {AQUA_KEEPER_PROGRAM, "--socket", keeper_.socket(), "--segment-bytes", "16777216"});
  }
  // Steps whose copies are cancelled before they begin, until a pack has failed by that.
  static void step_in_vain(ReplicaStage& stage, const Ids& ids) {
    const std::uint64_t before = stage.replicator().status().packs_failed;
    while (stage.replicator().status().packs_failed == before) {
      std::promise<void> gate;
      test::succeeds(emulated::launch(stage.runtime(), stage.stream(),
                                      [open = gate.get_future().share()] { open.wait(); }));
      Ticket copies = value_of(stage.step(7, ids, 0));
      copies.cancel();
      gate.set_value();
      ASSERT_TRUE(stage.replicator().wait(std::chrono::seconds(30)))
          << stage.replicator().status().error;
      stage.replicator().hear();
    }
  }
};

TEST_F(ReplicatorRoom, APackWhoseCopiesWereCancelledIsFilledAgain) {
  const Ids ids = ids_of(1, 20);
  ReplicaStage stage(keeper_.socket());
  stage.replicate();
  for (int i = 0; i < 6; ++i) {
    step_in_vain(stage, ids);
    ASSERT_FALSE(HasFatalFailure());
  }
  EXPECT_EQ(stage.replicator().watermark(7), 0U);
  stage.await(7, 20);
  stage.wipe(7);
  auto reader = stage.reader();
  ASSERT_EQ(reader.watermark(7, ids, 64), 20U);
  (void)value_of(reader.restore(7, ids, 20, stage.layout(), stage.blocks(7), stage.stream()));
  EXPECT_EQ(stage.wrong(7, ids), 0U);
}

}  // namespace
}  // namespace aqua
