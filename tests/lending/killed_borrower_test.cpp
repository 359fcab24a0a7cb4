// SPDX-License-Identifier: Apache-2.0
// Lender and borrower as two processes: what a borrower held comes back when it is killed, in other
// memory, zeroed and good for the next one, while the lender lives.
#include <signal.h>

#include "tests/lending/borrowers.hpp"

namespace aqua::lending {
namespace {

class KilledBorrower : public Borrowers {
 protected:
  // The next borrower of slab 0, who waits already, writes and looks for a while.
  void expect_undisturbed(Peer& next) {
    borrow(next, 0, 6);
    for (int look = 0; look < 10; ++look) {
      ASSERT_EQ(next.ask(concat("check ", index(0), " 6")), "ok") << look;
    }
  }
};
AQUA_CONTRACT_SUITE(KilledBorrower);

TEST_P(KilledBorrower, GivesAllBackInOtherMemory) {
  borrow(*peer_, 0, 5);
  borrow(*peer_, 1, 6);
  peer_->kill();
  expect_freed_anew(0, 2, 5);
  expect_freed_anew(1, 2, 6);
}

TEST_P(KilledBorrower, LeavesItsSlabsToTheNext) {
  borrow(*peer_, 0, 5);
  peer_->kill();
  expect_freed_anew(0, 2, 5);
  const auto next = another();
  borrow(*next, 0, 6);  // who sees zeroes
  EXPECT_TRUE(lender_->bytes_of(0) == like(5)) << "and writes elsewhere";
  EXPECT_EQ(next->ask("give_back " + index(0)), "ok");
  expect_freed(0, 3);
}

// No copy that the dead had queued lands in what the next one has got, or has written there.
TEST_P(KilledBorrower, InTheMiddleOfWritingDirtiesNothingAfterIt) {
  const auto next = another();
  borrow(*peer_, 0, 5);
  ASSERT_EQ(peer_->ask("churn " + index(0)), "ok");
  peer_->kill();
  expect_freed(0, 2);
  expect_undisturbed(*next);
}

// The child inherits what the dead one's driver had open.
TEST_P(KilledBorrower, InTheMiddleOfWritingWithAForkedChildDirtiesNothingEither) {
  const auto next = another();
  borrow(*peer_, 0, 5);
  const int child = std::stoi(peer_->ask("fork"));
  ASSERT_GT(child, 0);
  ASSERT_EQ(peer_->ask("churn " + index(0)), "ok");
  peer_->kill();
  expect_freed(0, 2);
  expect_undisturbed(*next);
  EXPECT_EQ(::kill(child, SIGKILL), 0) << "the child is no more";
}

TEST_P(KilledBorrower, FreesNothingOfOthers) {
  const auto other = another();
  borrow(*peer_, 0, 5);
  borrow(*other, 1, 6);
  peer_->kill();
  expect_freed_anew(0, 2, 5);
  EXPECT_EQ(lender_->now(1).custody, Custody::held);
  EXPECT_EQ(other->ask(concat("check ", index(1), " 6")), "ok");
}

TEST_P(KilledBorrower, WhoseForkedChildKeepsTheSocketsIsProvenDeadAllTheSame) {
  borrow(*peer_, 0, 5);
  const int child = std::stoi(peer_->ask("fork"));
  ASSERT_GT(child, 0);
  peer_->kill();
  expect_freed_anew(0, 2, 5);
  EXPECT_EQ(::kill(child, SIGKILL), 0) << "the child is no more";
}

TEST_P(KilledBorrower, LeavesSecretsThatOpenNothing) {
  const LeasedSlab old = lender_->lease(0);
  borrow(*peer_, 0, 5);
  peer_->kill();
  expect_freed_anew(0, 2, 5);
  const auto late = another();
  EXPECT_EQ(late->ask(import_command(old)), "aborted");
  LeasedSlab guess = lender_->lease(0);
  guess.secret = random_id<LeaseTag>();
  EXPECT_EQ(late->ask(import_command(guess)), "permission_denied");
  EXPECT_EQ(lender_->now(0).custody, Custody::free);
  EXPECT_EQ(lender_->now(0).generation, 2U);
}

}  // namespace
}  // namespace aqua::lending
