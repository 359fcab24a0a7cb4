// SPDX-License-Identifier: Apache-2.0
// Where tensors are placed, and what becomes of places that they leave.
#include "tests/tensor/world.hpp"

namespace aqua::tensor {
namespace {

class Table : public World {};

TEST_F(Table, ATensorStartsInTheFastestTierWithRoom) {
  const auto without_peer = allocate(1_MiB);
  EXPECT_EQ(without_peer.tier(), Tier::host);
  add_slab();
  const auto first = allocate(1_MiB);
  const auto second = allocate(1_MiB);
  const auto third = allocate(1_MiB);
  EXPECT_EQ(first.tier(), Tier::peer);
  EXPECT_EQ(second.tier(), Tier::peer);
  EXPECT_EQ(third.tier(), Tier::host) << "the slab is full";
}

TEST_F(Table, AHostOnlyTensorKeepsToTheHost) {
  add_slab();
  EXPECT_EQ(allocate(1_MiB, {.host_only = true}).tier(), Tier::host);
}

TEST_F(Table, ATensorOffThisDeviceIsNeverInItsOwnMemory) {
  const auto own = Space::create(Tier::local, arena_->base(), arena_->bytes()).value();
  const auto slab = gpu_->create_slab(kSlab).value();
  const std::size_t offset = arena_->map(*slab).value();
  EXPECT_OK(own->add_slab(offset, kSlab));
  TensorTable table(*gpu_, {.host = host_.get(), .peer = peer_.get(), .local = own.get()}, [] {});
  {
    const auto near = table.allocate({.bytes = 1_MiB}).value();
    EXPECT_EQ(near.tier(), Tier::local);
    const auto far = table.allocate({.bytes = 1_MiB, .off_device = true}).value();
    EXPECT_EQ(far.tier(), Tier::host);
    EXPECT_CODE(Code::resource_exhausted, table.place_away(entry_of(far)));
    add_slab();
    EXPECT_EQ(table.allocate({.bytes = 1_MiB, .off_device = true})->tier(), Tier::peer);
    EXPECT_EQ(table.place_away(entry_of(far)).value()->tier(), Tier::peer);
  }
  table.deferred().drain();
}

TEST_F(Table, ATensorMaySpanSlabs) {
  add_slab();
  add_slab();
  auto tensor = allocate(3_MiB);
  EXPECT_EQ(tensor.tier(), Tier::peer);
  const Bytes bytes = some_bytes(3_MiB, 1);
  post_write(tensor, a_, bytes);
  EXPECT_EQ(read(tensor, a_), bytes);
}

TEST_F(Table, EveryTensorHasItsExitReservedInHostMemory) {
  add_slab();
  const auto tensor = allocate(1_MiB);
  EXPECT_EQ(tensor.tier(), Tier::peer);
  EXPECT_EQ(host_->stats().allocated_bytes, 1_MiB);
}

TEST_F(Table, WithoutRoomForTheExitNothingIsAllocatedAndNothingChanges) {
  add_slab();
  const auto filler = allocate(kHostBytes - 512_KiB, {.host_only = true});
  EXPECT_CODE(Code::resource_exhausted, table_->allocate({.bytes = 1_MiB}));
  EXPECT_EQ(peer_->stats().allocations, 0U);
  EXPECT_EQ(host_->stats().allocations, 1U);
  EXPECT_EQ(table_->all().size(), 1U);
  EXPECT_TRUE(succeeds(table_->allocate({.bytes = 512_KiB})));
}

TEST_F(Table, ZeroBytesAreRefused) {
  EXPECT_CODE(Code::invalid_argument, table_->allocate({}));
}

TEST_F(Table, ADiscardableTensorNeedsNoExit) {
  add_slab();
  const auto filler = allocate(kHostBytes, {.host_only = true});
  const auto tensor = allocate(1_MiB, {.discardable = true});
  EXPECT_EQ(tensor.tier(), Tier::peer);
  EXPECT_FALSE(entry_of(tensor)->has_home());
  EXPECT_FALSE(table_->ensure_home(*entry_of(tensor)));
  const auto other = allocate(1_MiB, {.discardable = true});
  EXPECT_CODE(Code::resource_exhausted, table_->allocate({.bytes = 1_MiB, .discardable = true}));
}

TEST_F(Table, AnExitCanBeGivenLater) {
  add_slab();
  auto tensor = allocate(1_MiB, {.discardable = true});
  EXPECT_CODE(Code::failed_precondition, migrator_->start(entry_of(tensor), nullptr));
  EXPECT_TRUE(table_->ensure_home(*entry_of(tensor)));
  EXPECT_TRUE(table_->ensure_home(*entry_of(tensor)));
  EXPECT_EQ(host_->stats().allocations, 1U);
  const Bytes bytes = some_bytes(1_MiB, 1);
  post_write(tensor, a_, bytes);
  evacuate(tensor);
  EXPECT_EQ(tensor.tier(), Tier::host);
  EXPECT_EQ(read(tensor, b_), bytes);
}

TEST_F(Table, AnExitMayBeWhereAFreedTensorWas) {
  add_slab();
  auto tensor = allocate(1_MiB, {.discardable = true});
  auto filler = allocate(kHostBytes, {.host_only = true});
  {
    Gate gate(*gpu_, a_);
    post_write(filler, a_, some_bytes(1_MiB, 1));
    filler = AquaTensor();
    EXPECT_FALSE(table_->ensure_home(*entry_of(tensor)));
  }
  EXPECT_OK(finish(*gpu_, a_));
  EXPECT_TRUE(table_->ensure_home(*entry_of(tensor)));
}

TEST_F(Table, AFreedTensorsPlaceIsKeptUntilItsStreamsAreQuiet) {
  const std::size_t slab = add_slab();
  {
    auto tensor = allocate(1_MiB);
    Gate gate(*gpu_, a_);
    post_write(tensor, a_, some_bytes(1_MiB, 1));
    tensor = AquaTensor();
    EXPECT_EQ(table_->deferred().collect(), 1U);
    EXPECT_FALSE(peer_->slab_empty(slab, kSlab));
    EXPECT_TRUE(table_->all().empty());
  }
  table_->deferred().drain();
  EXPECT_TRUE(peer_->slab_empty(slab, kSlab));
}

TEST_F(Table, AFreedTensorsPlaceIsKeptWhileItIsPinned) {
  const std::size_t slab = add_slab();
  auto tensor = allocate(1_MiB);
  const Bytes bytes = some_bytes(1_MiB, 1);
  post_write(tensor, a_, bytes);
  auto pin = tensor.pin(Access::read, a_).value();
  tensor = AquaTensor();
  table_->deferred().drain();
  EXPECT_FALSE(peer_->slab_empty(slab, kSlab));
  EXPECT_EQ(read(pin, a_), bytes);
  pin.release();
  table_->deferred().drain();
  EXPECT_TRUE(peer_->slab_empty(slab, kSlab));
}

TEST_F(Table, NothingIsPlacedInARetiredSlab) {
  const std::size_t slab = add_slab();
  auto tensor = allocate(1_MiB);
  EXPECT_OK(peer_->retire_slab(slab, kSlab));
  EXPECT_EQ(allocate(512_KiB).tier(), Tier::host);
  EXPECT_CODE(Code::failed_precondition, peer_->remove_slab(slab, kSlab));
  ASSERT_EQ(peer_->tensors_in(slab, kSlab).size(), 1U);
  EXPECT_EQ(peer_->tensors_in(slab, kSlab)[0]->id(), tensor.id());
  tensor = AquaTensor();
  table_->deferred().drain();
  remove_slab(slab);
  EXPECT_EQ(add_slab(), slab) << "the hole is filled again";
}

TEST_F(Table, TensorsAtHomeThatWouldRatherBeAwayArePromotedOldestFirst) {
  const auto old = allocate(1_MiB);
  const auto homely = allocate(1_MiB, {.host_only = true});
  const auto young = allocate(1_MiB);
  const auto lost = allocate(1_MiB);
  EXPECT_TRUE(entry_of(lost)->lose());
  EXPECT_CODE(Code::resource_exhausted, table_->place_away(entry_of(old)));
  add_slab();
  const auto away = allocate(1_MiB);
  const auto candidates = table_->to_promote();
  ASSERT_EQ(candidates.size(), 2U);
  EXPECT_EQ(candidates[0], entry_of(old));
  EXPECT_EQ(candidates[1], entry_of(young));
}

TEST_F(Table, TheUseOfEveryTierIsCounted) {
  add_slab();
  const auto away = allocate(1_MiB);
  const auto home = allocate(512_KiB, {.host_only = true});
  const auto lost = allocate(256_KiB);
  EXPECT_TRUE(entry_of(lost)->lose());
  const TableUse use = table_->use();
  EXPECT_EQ(use.peer.bytes, 1_MiB);
  EXPECT_EQ(use.host.bytes, 512_KiB);
  EXPECT_EQ(use.lost.bytes, 256_KiB);
  EXPECT_EQ(use.local.tensors, 0U);
  EXPECT_EQ(use.peer.tensors + use.host.tensors + use.lost.tensors, 3U);
}

TEST_F(Table, AHandleKnowsItsTensor) {
  AquaTensor none;
  EXPECT_FALSE(none.valid());
  EXPECT_CODE(Code::failed_precondition, none.pin(Access::read, a_));
  AquaTensor tensor = allocate(1000, {.name = "seq 42"});
  EXPECT_EQ(tensor.name(), "seq 42");
  EXPECT_EQ(tensor.bytes(), 1000U);
  const auto id = tensor.id();
  none = std::move(tensor);
  EXPECT_EQ(none.id(), id);
  EXPECT_NE(allocate(1).id(), id);
}

}  // namespace
}  // namespace aqua::tensor
