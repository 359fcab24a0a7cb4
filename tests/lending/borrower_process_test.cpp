// SPDX-License-Identifier: Apache-2.0
// Lender and borrower as two processes: the borrower lives, is silent, stops, or is another one.
#include "tests/lending/borrowers.hpp"
#include "tests/lending/raw_client.hpp"

namespace aqua::lending {
namespace {

class BorrowerProcess : public Borrowers {};
AQUA_CONTRACT_SUITE(BorrowerProcess);

TEST_P(BorrowerProcess, WritesWhereTheLenderSeesItAndReturnsItClean) {
  borrow(*peer_, 0, 5);
  EXPECT_TRUE(lender_->bytes_of(0) == like(5));
  lender_->fill(0, 6);
  EXPECT_EQ(peer_->ask(concat("check ", index(0), " 6")), "ok") << "one memory for both";
  EXPECT_EQ(peer_->ask("give_back " + index(0)), "ok");
  expect_freed_clean(0, 2);
}

TEST_P(BorrowerProcess, ThatClosesItsSocketButLivesStillHolds) {
  borrow(*peer_, 0, 5);
  ASSERT_EQ(peer_->ask("drop"), "ok");
  const auto other = another();  // once this one has been served, the end of file has been seen
  borrow(*other, 1, 6);
  ASSERT_EQ(other->ask("give_back " + index(1)), "ok");
  expect_freed_clean(1, 2);
  EXPECT_EQ(lender_->now(0).custody, Custody::held);
  EXPECT_TRUE(lender_->bytes_of(0) == like(5));
  peer_->kill();
  expect_freed_anew(0, 2, 5);
}

TEST_P(BorrowerProcess, ThatIsStoppedHoldsWhatItHoldsAndGoesOn) {
  borrow(*peer_, 0, 5);
  peer_->stop();
  for (std::uint64_t generation = 2; generation < 5; ++generation) {
    const auto other = another();
    borrow(*other, 1, 6);
    other->kill();
    expect_freed_anew(1, generation, 6);
  }
  EXPECT_EQ(lender_->now(0).custody, Custody::held);
  EXPECT_TRUE(lender_->bytes_of(0) == like(5));
  peer_->resume();
  EXPECT_EQ(peer_->ask(concat("check ", index(0), " 5")), "ok");
  EXPECT_EQ(peer_->ask(concat("fill ", index(0), " 8")), "ok");
  EXPECT_TRUE(lender_->bytes_of(0) == like(8));
  EXPECT_EQ(peer_->ask("give_back " + index(0)), "ok");
  expect_freed_clean(0, 2);
}

// This process says another's name first. Without a secret that takes nothing from it.
TEST_P(BorrowerProcess, LosesItsIdToNobodyWhoOnlySaysIt) {
  const auto id = random_id<ClientTag>();
  RawClient thief(lender_->path());
  EXPECT_EQ(thief.ask(Hello{id}), 0U);
  ASSERT_EQ(peer_->ask("id " + to_string(id)), "ok");
  borrow(*peer_, 0, 5);
  const SlabStatus free = lender_->now(1);
  EXPECT_EQ(thief.ask(Fetch{{{free.index, free.generation, free.secret}}}),
            to_reply_code(Code::permission_denied));
  const SlabStatus held = lender_->now(0);
  EXPECT_EQ(thief.ask(GiveBack{{{held.index, held.generation}}}),
            to_reply_code(Code::permission_denied));
  EXPECT_EQ(peer_->ask("give_back " + index(0)), "ok");
  expect_freed_clean(0, 2);
}

TEST_P(BorrowerProcess, CannotTakeTheIdOfALiveOne) {
  const std::string be = "id " + to_string(random_id<ClientTag>());
  ASSERT_EQ(peer_->ask(be), "ok");
  borrow(*peer_, 0, 5);
  const auto thief = another();
  ASSERT_EQ(thief->ask(be), "ok");
  EXPECT_EQ(thief->ask(import_command(lender_->lease(0))), "permission_denied");
  EXPECT_EQ(thief->ask(import_command(lender_->lease(1))), "permission_denied");
  peer_->kill();
  expect_freed_anew(0, 2, 5);
  EXPECT_EQ(thief->ask(import_command(lender_->lease(1))), "ok") << "now it is nobody else's";
}

}  // namespace
}  // namespace aqua::lending
