// SPDX-License-Identifier: Apache-2.0
// Lender and borrower as two processes: the lender takes its memory back for itself.
#include <array>

#include "tests/lending/borrowers.hpp"

namespace aqua::lending {
namespace {

class ReclaimProcess : public Borrowers {
 protected:
  [[nodiscard]] Result<std::vector<std::unique_ptr<device::Slab>>> take_back(std::size_t i) {
    return lender_->exporter().take_back(std::array{lender_->offered(i).index});
  }
  // The lender has it back as memory like any other.
  void expect_reclaimed(std::size_t i) {
    auto slabs = take_back(i);
    ASSERT_TRUE(succeeds(slabs));
    const device::Place own = device::place_slab(lender_->gpu(), std::move(slabs->front()));
    const std::size_t bytes = lender_->slab_bytes();
    EXPECT_TRUE(device::download(lender_->gpu(), own.base(), bytes) == zeroes(bytes));
    device::upload(lender_->gpu(), own.base(), like(7));
    EXPECT_TRUE(device::download(lender_->gpu(), own.base(), bytes) == like(7));
  }
};
AQUA_CONTRACT_SUITE(ReclaimProcess);

TEST_P(ReclaimProcess, WaitsForTheBorrowerToGiveBack) {
  borrow(*peer_, 0, 5);
  EXPECT_CODE(Code::failed_precondition, take_back(0));
  EXPECT_EQ(peer_->ask(concat("check ", index(0), " 5")), "ok") << "nothing has changed";
  EXPECT_EQ(peer_->ask("give_back " + index(0)), "ok");
  expect_freed_clean(0, 2);
  expect_reclaimed(0);
  EXPECT_TRUE(lender_->bytes_of(0) == like(7)) << "the same memory";
}

TEST_P(ReclaimProcess, WaitsForTheProofThatTheBorrowerIsDead) {
  borrow(*peer_, 0, 5);
  peer_->stop();
  EXPECT_CODE(Code::failed_precondition, take_back(0));
  peer_->kill();
  expect_freed_anew(0, 2, 5);
  expect_reclaimed(0);
}

TEST_P(ReclaimProcess, LeavesNothingToImportAndOtherSlabsToTheirHolders) {
  borrow(*peer_, 1, 6);
  const LeasedSlab lease = lender_->lease(0);
  expect_reclaimed(0);
  EXPECT_EQ(peer_->ask(import_command(lease)), "not_found");
  EXPECT_EQ(peer_->ask(concat("check ", index(1), " 6")), "ok");
}

TEST_P(ReclaimProcess, IsFollowedByLendingTheSameMemoryAnew) {
  borrow(*peer_, 0, 5);
  EXPECT_EQ(peer_->ask("give_back " + index(0)), "ok");
  expect_freed_clean(0, 2);
  auto slabs = take_back(0);
  ASSERT_TRUE(succeeds(slabs));
  lender_->fill(0, 7);  // the owner's own use
  const auto offered = lender_->exporter().put_up(*slabs);
  ASSERT_TRUE(succeeds(offered));
  const std::string anew = std::to_string(offered->front().index);
  EXPECT_NE(anew, index(0));
  ASSERT_EQ(peer_->ask(import_command(lender_->to_lease(offered->front()))), "ok");
  EXPECT_EQ(peer_->ask("clean " + anew), "ok");
  EXPECT_EQ(peer_->ask(concat("fill ", anew, " 8")), "ok");
  EXPECT_TRUE(lender_->bytes_of(0) == like(8));
}

}  // namespace
}  // namespace aqua::lending
