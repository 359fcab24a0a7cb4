// SPDX-License-Identifier: Apache-2.0
// What a Replicator takes of the keeper's memory, where there is room for few packs.
#include <gtest/gtest.h>

#include <functional>
#include <future>

#include "base/internals.hpp"
#include "device/memfd/device.hpp"
#include "runtime/impl.hpp"
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
  // `meanwhile` is called once a step's copies have been let go, before anything is heard of them.
  static void step_in_vain(ReplicaStage& stage, const Ids& ids,
                           const std::function<void(ReplicaStage&)>& meanwhile) {
    const std::uint64_t before = stage.replicator().status().packs_failed;
    while (stage.replicator().status().packs_failed == before) {
      std::promise<void> gate;
      test::succeeds(emulated::launch(stage.runtime(), stage.stream(),
                                      [open = gate.get_future().share()] { open.wait(); }));
      Ticket copies = value_of(stage.step(7, ids, 0));
      copies.cancel();
      gate.set_value();
      meanwhile(stage);
      ASSERT_TRUE(stage.replicator().wait(std::chrono::seconds(30)))
          << stage.replicator().status().error;
      stage.replicator().poll();
    }
  }
  // More packs fail than there is room for; then what they were to hold is written and read.
  void fail_and_fill(const std::function<void(ReplicaStage&)>& meanwhile) {
    const Ids ids = ids_of(1, 20);
    ReplicaStage stage(keeper_.socket());
    stage.replicate();
    for (int i = 0; i < 6; ++i) {
      step_in_vain(stage, ids, meanwhile);
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
};

TEST_F(ReplicatorRoom, APackWhoseCopiesWereCancelledIsFilledAgain) {
  fail_and_fill([](ReplicaStage&) {});
}

TEST_F(ReplicatorRoom, APackThatFailedIsFilledAgainThoughItsStreamIsGone) {
  fail_and_fill([](ReplicaStage& stage) { stage.change_stream(); });
}

// CUDA's legacy stream is no good while another one is captured, here to the end.
TEST_F(ReplicatorRoom, APackThatFailedIsFilledAgainWhileAGraphIsCaptured) {
  fail_and_fill([](ReplicaStage& stage) {
    device::pretend_capture(detail::Internals::impl(stage.runtime()).device(), Stream{});
  });
}

}  // namespace
}  // namespace aqua
