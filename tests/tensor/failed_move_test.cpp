// SPDX-License-Identifier: Apache-2.0
// Moves that come to nothing, and memory that dies: nobody else pays, and nothing leaks.
#include "tests/tensor/world.hpp"

namespace aqua::tensor {
namespace {

class FailedMoves : public World {
 protected:
  static constexpr std::size_t kBytes = 256_KiB;

  FailedMoves() { slab_ = add_slab(); }
  void kill(AquaTensor& tensor) { device::poison_range(*gpu_, address(tensor), 1); }
  // A tensor with bytes in it, at rest.
  [[nodiscard]] AquaTensor filled(std::uint32_t seed, TensorOptions options = {}) {
    AquaTensor tensor = allocate(kBytes, std::move(options));
    post_write(tensor, a_, some_bytes(kBytes, seed));
    EXPECT_OK(finish(*gpu_, a_));
    return tensor;
  }

  std::size_t slab_ = 0;
};

TEST_F(FailedMoves, ATensorOnDeadMemoryIsLostAndItsOwnerCanBeTold) {
  auto tensor = filled(1);
  kill(tensor);
  EXPECT_OK(migrator_->start(entry_of(tensor), nullptr));
  pump();
  EXPECT_TRUE(migrator_->idle());
  const auto lost = migrator_->take_lost();
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0]->id(), tensor.id());
  EXPECT_TRUE(migrator_->take_lost().empty());
  EXPECT_TRUE(tensor.lost());
  EXPECT_CODE(Code::data_loss, tensor.pin(Access::read, a_));
  EXPECT_TRUE(lost[0]->lose());
  table_->deferred().drain();
  EXPECT_TRUE(peer_->slab_empty(slab_, kSlab)) << "a dead slab can still be given back";
}

TEST_F(FailedMoves, NeighboursOfADeadTensorArriveUnharmed) {
  std::vector<AquaTensor> tensors;
  for (std::uint32_t i = 0; i < 8; ++i) tensors.push_back(filled(i));
  kill(tensors[2]);
  kill(tensors[5]);
  for (AquaTensor& tensor : tensors) EXPECT_OK(migrator_->start(entry_of(tensor), nullptr));
  while (!migrator_->idle()) pump();
  EXPECT_EQ(migrator_->take_lost().size(), 2U);
  for (std::uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(tensors[i].lost(), i == 2 || i == 5) << i;
    if (tensors[i].lost()) continue;
    EXPECT_EQ(tensors[i].tier(), Tier::host);
    EXPECT_EQ(read(tensors[i], b_), some_bytes(kBytes, i)) << i;
  }
}

TEST_F(FailedMoves, APromotionToDeadMemoryStaysAtHome) {
  auto tensor = filled(1);
  evacuate(tensor);
  table_->deferred().drain();
  device::poison_range(*gpu_, arena_->base() + slab_, kSlab);
  promote(tensor);
  EXPECT_TRUE(migrator_->idle());
  EXPECT_EQ(tensor.tier(), Tier::host);
  EXPECT_FALSE(tensor.lost());
  EXPECT_TRUE(migrator_->take_lost().empty());
  EXPECT_EQ(read(tensor, b_), some_bytes(kBytes, 1));
  table_->deferred().drain();
  EXPECT_TRUE(peer_->slab_empty(slab_, kSlab));
  EXPECT_EQ(migrator_->stats().promotions, 0U);
}

TEST_F(FailedMoves, AnEvacuationBehindAFailedPromotionIsNotLost) {
  auto homely = filled(1);
  evacuate(homely);
  table_->deferred().drain();
  const std::size_t other = add_slab();
  auto away = filled(2);  // in the first slab, which is the lowest
  auto to = table_->place_away(entry_of(homely)).value();
  device::poison_range(*gpu_, to->address(), kBytes);
  EXPECT_OK(migrator_->start(entry_of(homely), std::move(to)));
  EXPECT_OK(migrator_->start(entry_of(away), nullptr));
  while (!migrator_->idle()) pump();
  EXPECT_TRUE(migrator_->take_lost().empty());
  EXPECT_EQ(read(homely, a_), some_bytes(kBytes, 1));
  EXPECT_EQ(read(away, a_), some_bytes(kBytes, 2));
  EXPECT_TRUE(peer_->slab_empty(other, kSlab));
}

TEST_F(FailedMoves, ADiscardableTensorIsDroppedWhenThereIsNoExit) {
  auto tensor = filled(1, {.discardable = true});
  auto pin = tensor.pin(Access::read, a_).value();
  EXPECT_TRUE(entry_of(tensor)->lose());
  EXPECT_CODE(Code::data_loss, tensor.pin(Access::write, a_));
  EXPECT_EQ(read(pin, a_), some_bytes(kBytes, 1)) << "who has it pinned may finish";
  EXPECT_FALSE(peer_->slab_empty(slab_, kSlab));
  pin.release();
  table_->deferred().drain();
  EXPECT_TRUE(peer_->slab_empty(slab_, kSlab));
  EXPECT_EQ(table_->use().lost.tensors, 1U);
}

TEST_F(FailedMoves, ATensorFreedWhileItIsEvacuatedLeavesNothingBehind) {
  auto tensor = filled(1);
  Gate gate(*gpu_, a_);
  post_write(tensor, a_, some_bytes(kBytes, 2));  // the copy waits for it
  EXPECT_OK(migrator_->start(entry_of(tensor), nullptr));
  tensor = AquaTensor();
  EXPECT_TRUE(migrator_->poll(false));
  EXPECT_TRUE(migrator_->idle());
  EXPECT_TRUE(migrator_->has_room());
  EXPECT_TRUE(migrator_->take_lost().empty());
  EXPECT_EQ(table_->deferred().collect(), 2U) << "both places are in use by the copy";
  gate.open();
  table_->deferred().drain();
  EXPECT_EQ(peer_->stats().allocations + host_->stats().allocations, 0U);
}

TEST_F(FailedMoves, ATensorFreedWhileItIsPromotedLeavesNothingBehind) {
  auto tensor = filled(1);
  evacuate(tensor);
  table_->deferred().drain();
  Gate gate(*gpu_, a_);
  post_write(tensor, a_, some_bytes(kBytes, 2));
  EXPECT_OK(migrator_->start(entry_of(tensor), table_->place_away(entry_of(tensor)).value()));
  tensor = AquaTensor();
  gate.open();
  pump();
  EXPECT_TRUE(migrator_->idle());
  table_->deferred().drain();
  EXPECT_EQ(peer_->stats().allocations + host_->stats().allocations, 0U);
}

TEST_F(FailedMoves, AnAbandonedPromotionStaysAtHomeAndItsPlaceIsFreedAfterTheCopy) {
  auto tensor = filled(1);
  evacuate(tensor);
  table_->deferred().drain();
  Gate gate(*gpu_, a_);
  post_write(tensor, a_, some_bytes(kBytes, 2));
  EXPECT_OK(migrator_->start(entry_of(tensor), table_->place_away(entry_of(tensor)).value()));
  migrator_->abandon_promotions();
  EXPECT_TRUE(migrator_->idle());
  table_->deferred().collect();
  EXPECT_FALSE(peer_->slab_empty(slab_, kSlab));
  gate.open();
  EXPECT_EQ(tensor.tier(), Tier::host);
  EXPECT_EQ(read(tensor, b_), some_bytes(kBytes, 2));
  table_->deferred().drain();
  EXPECT_TRUE(peer_->slab_empty(slab_, kSlab));
  promote(tensor);
  EXPECT_EQ(read(tensor, b_), some_bytes(kBytes, 2));
}

TEST_F(FailedMoves, AbandoningPromotionsLeavesEvacuationsAlone) {
  auto down = filled(1);
  auto up = filled(2);
  evacuate(up);
  EXPECT_OK(migrator_->start(entry_of(up), table_->place_away(entry_of(up)).value()));
  EXPECT_OK(migrator_->start(entry_of(down), nullptr));
  migrator_->abandon_promotions();
  pump();
  EXPECT_EQ(down.tier(), Tier::host);
  EXPECT_EQ(up.tier(), Tier::host);
}

TEST_F(FailedMoves, NobodyIsToldOfTheLossOfAFreedTensor) {
  auto tensor = filled(1, {.discardable = true});
  const auto entry = entry_of(tensor);
  ASSERT_TRUE(table_->ensure_home(*entry));
  EXPECT_OK(migrator_->start(entry, nullptr));
  tensor = AquaTensor();
  EXPECT_TRUE(table_->ensure_home(*entry)) << "it needs none";
  EXPECT_FALSE(entry->lose());
  pump();
  EXPECT_TRUE(migrator_->take_lost().empty());
}

TEST_F(FailedMoves, AMigratorThatGoesLeavesItsTensorsWhereTheyWere) {
  auto tensor = filled(1);
  auto pin = tensor.pin(Access::write, a_).value();
  EXPECT_OK(migrator_->start(entry_of(tensor), nullptr));
  migrator_.reset();
  EXPECT_EQ(tensor.tier(), Tier::peer);
  pin.release();
  EXPECT_EQ(read(tensor, a_), some_bytes(kBytes, 1));
  migrator_ = Migrator::create(*gpu_).value();
  evacuate(tensor);
  EXPECT_EQ(read(tensor, a_), some_bytes(kBytes, 1));
}

TEST_F(FailedMoves, LosingATensorEndsItsMove) {
  auto tensor = filled(1);
  EXPECT_OK(migrator_->start(entry_of(tensor), nullptr));
  EXPECT_TRUE(entry_of(tensor)->lose());
  pump();
  EXPECT_TRUE(migrator_->idle());
  EXPECT_EQ(migrator_->take_lost().size(), 1U);
  EXPECT_CODE(Code::not_found, migrator_->start(entry_of(tensor), nullptr));
}

}  // namespace
}  // namespace aqua::tensor
