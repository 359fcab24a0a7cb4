// SPDX-License-Identifier: Apache-2.0
// One exporter, borrowers in the same process: what is lent, to whom, and that it comes back clean.
#include "lending/exporter.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/lending/support.hpp"

namespace aqua::lending {
namespace {

class Lending : public ::testing::Test {
 protected:
  Lender lender_{3};
  std::unique_ptr<device::Device> gpu_ = open_gpu(1);
  std::unique_ptr<Importer> importer_ = open_importer(*gpu_);

  [[nodiscard]] Result<std::vector<ImportedSlab>> import(const LeasedSlab& lease) {
    return importer_->import({&lease, 1});
  }
  void write(const ImportedSlab& slab, std::uint32_t seed) {
    device::upload(*gpu_, importer_->base() + slab.offset, bytes_like(seed));
  }
};

TEST_F(Lending, WhatIsPutUpIsScrubbed) {
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(lender_.offered(i).custody, Custody::free);
    EXPECT_EQ(lender_.bytes_of(i), zeroes());
  }
}

TEST_F(Lending, ABorrowerReadsZeroesAndItsWritesAreInTheLentMemory) {
  const auto slab = import(lender_.lease(0));
  ASSERT_TRUE(succeeds(slab));
  EXPECT_EQ(device::download(*gpu_, importer_->base() + slab->front().offset, kSlab), zeroes());
  write(slab->front(), 1);
  EXPECT_EQ(lender_.bytes_of(0), bytes_like(1));
  EXPECT_EQ(lender_.bytes_of(1), zeroes());
  EXPECT_EQ(lender_.now(0).custody, Custody::held);
}

TEST_F(Lending, AReturnedSlabIsZeroAndHasItsNextGenerationAndSecret) {
  const LeasedSlab lease = lender_.lease(0);
  const auto slab = import(lease);
  ASSERT_TRUE(succeeds(slab));
  write(slab->front(), 1);
  ASSERT_TRUE(succeeds(importer_->give_back(lease.key)));
  const SlabStatus freed = lender_.freed().next();
  EXPECT_EQ(freed.index, lease.key.index);
  EXPECT_EQ(freed.custody, Custody::free);
  EXPECT_EQ(freed.generation, 2U);
  EXPECT_NE(freed.secret, lease.secret);
  EXPECT_EQ(lender_.bytes_of(0), zeroes());
  EXPECT_TRUE(succeeds(import(lender_.to_lease(freed))));
}

TEST_F(Lending, AStaleOrGuessedSecretIsRefusedAndChangesNothing) {
  const LeasedSlab old = lender_.lease(0);
  ASSERT_TRUE(succeeds(import(old)));
  ASSERT_TRUE(succeeds(importer_->give_back(old.key)));
  (void)lender_.freed().next();
  const SlabStatus before = lender_.now(0);
  EXPECT_CODE(Code::aborted, import(old));
  LeasedSlab guess = lender_.lease(0);
  guess.secret = random_id<LeaseTag>();
  EXPECT_CODE(Code::permission_denied, import(guess));
  LeasedSlab mixed = lender_.lease(0);
  mixed.secret = old.secret;
  EXPECT_CODE(Code::permission_denied, import(mixed));
  LeasedSlab unknown = lender_.lease(0);
  unknown.key.index = 77;
  EXPECT_CODE(Code::not_found, import(unknown));
  EXPECT_TRUE(importer_->all().empty());
  EXPECT_EQ(lender_.now(0).custody, Custody::free);
  EXPECT_EQ(lender_.now(0).generation, before.generation);
  EXPECT_EQ(lender_.now(0).secret, before.secret);
}

TEST_F(Lending, OneRefusedSlabRefusesTheWholeImport) {
  std::array leases{lender_.lease(0), lender_.lease(1), lender_.lease(2)};
  leases[1].secret = leases[0].secret;
  EXPECT_CODE(Code::permission_denied, importer_->import(leases));
  EXPECT_TRUE(importer_->all().empty());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(lender_.now(i).custody, Custody::free);
}

TEST_F(Lending, ASlabThatAnotherHoldsIsRefused) {
  ASSERT_TRUE(succeeds(import(lender_.lease(0))));
  const auto other = open_importer(*gpu_);
  const LeasedSlab lease = lender_.lease(0);
  EXPECT_CODE(Code::failed_precondition, other->import({&lease, 1}));
  EXPECT_EQ(lender_.now(0).custody, Custody::held);
}

TEST_F(Lending, HeldSlabsAreNotTakenBackAndFreeOnesAre) {
  const LeasedSlab lease = lender_.lease(1);
  ASSERT_TRUE(succeeds(import(lease)));
  const std::array all{lender_.offered(0).index, lender_.offered(1).index,
                       lender_.offered(2).index};
  EXPECT_CODE(Code::failed_precondition, lender_.exporter().take_back(all));
  EXPECT_EQ(lender_.exporter().status().size(), 3U);
  ASSERT_TRUE(succeeds(importer_->give_back(lease.key)));
  (void)lender_.freed().next();
  const auto taken = lender_.exporter().take_back(all);
  ASSERT_TRUE(succeeds(taken));
  EXPECT_EQ(taken->size(), 3U);
  EXPECT_TRUE(lender_.exporter().status().empty());
  EXPECT_CODE(Code::not_found, import(lease));
}

TEST_F(Lending, ASlabTakenBackCanBePutUpAgainUnderANewIndex) {
  auto taken = lender_.exporter().take_back(std::array{lender_.offered(0).index});
  ASSERT_TRUE(succeeds(taken));
  const auto offered = lender_.exporter().put_up(*taken);
  ASSERT_TRUE(succeeds(offered));
  EXPECT_TRUE(taken->empty());
  EXPECT_GT(offered->front().index, lender_.offered(2).index);
  EXPECT_TRUE(succeeds(import(lender_.to_lease(offered->front()))));
}

TEST_F(Lending, TheCoordinatorsWordEndsAGrantAndIsHeardOnce) {
  const LeasedSlab lease = lender_.lease(0);
  lender_.exporter().grant_ended(lease.key.index, lease.key.generation,
                                 GrantEnd::died);  // never fetched
  EXPECT_EQ(lender_.freed().next().generation, 2U);
  EXPECT_CODE(Code::aborted, import(lease));
  ASSERT_TRUE(succeeds(import(lender_.lease(0))));
  lender_.exporter().grant_ended(lease.key.index, 2, GrantEnd::died);  // we want our own proof
  lender_.exporter().grant_ended(lease.key.index, 1, GrantEnd::returned);
  EXPECT_EQ(lender_.now(0).custody, Custody::held);
  lender_.exporter().grant_ended(lease.key.index, 2, GrantEnd::returned);
  EXPECT_EQ(lender_.freed().next().generation, 3U);
  EXPECT_EQ(lender_.freed().waiting(), 0U);
}

TEST_F(Lending, AGrantThatEndedNobodySaysHowLeadsToOtherMemory) {
  const LeasedSlab lease = lender_.lease(0);
  const auto slab = import(lease);
  ASSERT_TRUE(succeeds(slab));
  write(slab->front(), 1);
  const std::size_t before = lender_.gpu().free_bytes();
  lender_.exporter().grant_ended(lease.key.index, 1, GrantEnd::unknown);
  const SlabStatus freed = lender_.freed().next();
  EXPECT_EQ(freed.generation, 2U);
  EXPECT_EQ(lender_.bytes_of(0), bytes_like(1)) << "what the holder has mapped is as it was";
  EXPECT_EQ(lender_.gpu().free_bytes(), before);
  const auto gpu = open_gpu(2);
  const auto next = open_importer(*gpu);
  const LeasedSlab anew = lender_.to_lease(freed);
  const auto fresh = next->import({&anew, 1});
  ASSERT_TRUE(succeeds(fresh));
  EXPECT_EQ(device::download(*gpu, next->base() + fresh->front().offset, kSlab), zeroes());
}

TEST_F(Lending, PuttingUpMoreThanTheArenaHoldsFailsAndLeavesTheSlabsToTheCaller) {
  const SocketPath path;
  const auto opened =
      Exporter::open(lender_.gpu(), {.socket_path = path.str(), .arena_bytes = 2 * kSlab},
                     [](const SlabStatus&) {});
  ASSERT_TRUE(succeeds(opened));
  Exporter& small = **opened;
  std::vector<std::unique_ptr<device::Slab>> slabs;
  for (int i = 0; i < 3; ++i) slabs.push_back(lender_.gpu().create_slab(kSlab).value());
  EXPECT_CODE(Code::resource_exhausted, small.put_up(slabs));
  ASSERT_EQ(slabs.size(), 3U);
  for (const auto& slab : slabs) EXPECT_NE(slab, nullptr);
  EXPECT_TRUE(small.status().empty());
  slabs.pop_back();
  EXPECT_TRUE(succeeds(small.put_up(slabs)));
}

TEST_F(Lending, MemoryStaysWithItsHolderWhenTheExporterStops) {
  const LeasedSlab lease = lender_.lease(0);
  const auto slab = import(lease);
  ASSERT_TRUE(succeeds(slab));
  lender_.stop();
  write(slab->front(), 4);
  EXPECT_EQ(device::download(*gpu_, importer_->base() + slab->front().offset, kSlab),
            bytes_like(4));
  EXPECT_CODE(Code::unavailable, importer_->give_back(lease.key));
  EXPECT_TRUE(importer_->all().empty());
}

}  // namespace
}  // namespace aqua::lending
