// SPDX-License-Identifier: Apache-2.0
// Lender and borrower as two processes: what the lender's death leaves to its borrower.
#include <atomic>
#include <thread>

#include "tests/lending/lenders.hpp"

namespace aqua::lending {
namespace {

class KilledLender : public Lenders {};
AQUA_CONTRACT_SUITE(KilledLender);

TEST_P(KilledLender, TakesNoByteWithIt) {
  ASSERT_TRUE(succeeds(importer_->import(leases_)));
  write(leases_[1], 5);
  peer_->kill();
  EXPECT_TRUE(holds(leases_[0], zeroes(leases_[0].bytes)));
  EXPECT_TRUE(holds(leases_[1], 5));
  write(leases_[2], 6);
  EXPECT_TRUE(holds(leases_[2], 6));
}

// Until the borrower has moved off, as after a revocation, its memory is as it was.
TEST_P(KilledLender, DisturbsNoneOfTheWorkInItsMemory) {
  ASSERT_TRUE(succeeds(importer_->import(leases_)));
  const std::size_t bytes = leases_[0].bytes;
  const device::Place home = device::make_place(*gpu_, bytes);
  std::atomic<int> rounds = 0;
  std::atomic<bool> enough = false;
  std::thread work([&] {
    for (std::uint32_t seed = 0; !enough; ++seed, ++rounds) {
      write(leases_[seed % 4], seed);
      EXPECT_TRUE(succeeds(gpu_->copy(device::one(home.base(), at(leases_[seed % 4]), bytes), {})));
      EXPECT_TRUE(succeeds(device::finish(*gpu_, {})));
      EXPECT_TRUE(device::download(*gpu_, home.base(), bytes) == bytes_like(seed, bytes)) << seed;
    }
  });
  EXPECT_TRUE(eventually([&] { return rounds > 2; }));
  peer_->kill();
  const int before = rounds;
  EXPECT_TRUE(eventually([&] { return rounds > before + 4; }));
  enough = true;
  work.join();
}

TEST_P(KilledLender, LeavesMemoryApartFromWhatIsAllocatedAfterIt) {
  ASSERT_TRUE(succeeds(importer_->import(leases_)));
  for (std::uint32_t i = 0; i < 4; ++i) write(leases_[i], i);
  peer_->kill();
  std::vector<device::Place> fresh;
  for (std::uint32_t i = 0; i < 8; ++i) {
    fresh.push_back(device::make_place(*gpu_, leases_[0].bytes));
    device::upload(*gpu_, fresh.back().base(), bytes_like(50 + i, leases_[0].bytes));
  }
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(holds(leases_[i], i)) << i;
}

TEST_P(KilledLender, IsUnavailableAndItsSlabsAreLetGoAllTheSame) {
  ASSERT_TRUE(succeeds(importer_->import(leases_)));
  peer_->kill();
  EXPECT_CODE(Code::unavailable, importer_->give_back(leases_[1].key));
  EXPECT_FALSE(importer_->find(leases_[1].key).has_value());
  EXPECT_CODE(Code::unavailable, importer_->import(std::vector{leases_[1]}));
}

TEST_P(KilledLender, IsFollowedByOneAtTheSameSocketWhoseSlabsAreOthers) {
  ASSERT_TRUE(succeeds(importer_->import(leases_)));
  write(leases_[0], 5);
  peer_->kill();
  EXPECT_CODE(Code::unavailable, importer_->give_back(leases_[1].key));
  Peer successor(GetParam());
  const auto others = lent_by(successor);
  ASSERT_TRUE(succeeds(importer_->import(others)));
  for (const LeasedSlab& lease : others) EXPECT_TRUE(holds(lease, zeroes(lease.bytes)));
  write(others[0], 6);
  EXPECT_TRUE(holds(leases_[0], 5)) << "what the dead one lent";
}

}  // namespace
}  // namespace aqua::lending
