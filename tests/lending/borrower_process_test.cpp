// Lender and borrower as two processes: the borrower may stop or die at any moment.
#include <gtest/gtest.h>
#include <signal.h>

#include "base/concat.hpp"
#include "lending/peer_process.hpp"
#include "lending/support.hpp"

namespace aqua::lending {
namespace {

// We lend, peers borrow.
class Borrowers : public testing::Test {
 protected:
  Lender lender_{2};
  Peer peer_;

  [[nodiscard]] std::string index(std::size_t i) const {
    return std::to_string(lender_.offered(i).index);
  }
  void borrow(Peer& peer, std::size_t i, int seed) {
    ASSERT_EQ(peer.ask(import_command(lender_.lease(i))), "ok");
    ASSERT_EQ(peer.ask(concat("fill ", index(i), " ", seed)), "ok");
  }
  void expect_freed_clean(std::size_t i, std::uint64_t generation) {
    const SlabStatus freed = lender_.freed().next();
    EXPECT_EQ(freed.index, lender_.offered(i).index);
    EXPECT_EQ(freed.generation, generation);
    EXPECT_NE(freed.secret, lender_.offered(i).secret);
    EXPECT_EQ(lender_.bytes_of(i), zeroes());
  }
};

TEST_F(Borrowers, WriteWhereTheLenderSeesItAndReturnItClean) {
  borrow(peer_, 0, 5);
  EXPECT_EQ(lender_.bytes_of(0), bytes_like(5));
  EXPECT_EQ(peer_.ask("give_back " + index(0)), "ok");
  expect_freed_clean(0, 2);
}

TEST_F(Borrowers, ThatAreKilledGiveAllBackScrubbed) {
  borrow(peer_, 0, 5);
  borrow(peer_, 1, 6);
  peer_.kill();
  expect_freed_clean(0, 2);
  expect_freed_clean(1, 2);
}

TEST_F(Borrowers, ThatAreKilledFreeNothingOfOthers) {
  Peer other;
  borrow(peer_, 0, 5);
  borrow(other, 1, 6);
  peer_.kill();
  expect_freed_clean(0, 2);
  EXPECT_EQ(lender_.now(1).custody, Custody::held);
  EXPECT_EQ(other.ask(concat("check ", index(1), " 6")), "ok");
}

TEST_F(Borrowers, ThatCloseTheirSocketButLiveStillHold) {
  borrow(peer_, 0, 5);
  ASSERT_EQ(peer_.ask("drop"), "ok");
  Peer other;  // once this one has been served, the end of file has been seen
  borrow(other, 1, 6);
  ASSERT_EQ(other.ask("give_back " + index(1)), "ok");
  expect_freed_clean(1, 2);
  EXPECT_EQ(lender_.now(0).custody, Custody::held);
  EXPECT_EQ(lender_.bytes_of(0), bytes_like(5));
  peer_.kill();
  expect_freed_clean(0, 2);
}

TEST_F(Borrowers, WhoseForkedChildKeepsTheSocketsAreProvenDeadAllTheSame) {
  borrow(peer_, 0, 5);
  const int child = std::stoi(peer_.ask("fork"));
  peer_.kill();
  expect_freed_clean(0, 2);
  EXPECT_EQ(::kill(child, SIGKILL), 0) << "the child has lived on";
}

TEST_F(Borrowers, ThatAreStoppedHoldWhatTheyHoldAndGoOn) {
  borrow(peer_, 0, 5);
  peer_.stop();
  for (std::uint64_t generation = 2; generation < 5; ++generation) {
    Peer other;
    borrow(other, 1, 6);
    other.kill();
    expect_freed_clean(1, generation);
  }
  EXPECT_EQ(lender_.now(0).custody, Custody::held);
  EXPECT_EQ(lender_.bytes_of(0), bytes_like(5));
  peer_.resume();
  EXPECT_EQ(peer_.ask(concat("check ", index(0), " 5")), "ok");
  EXPECT_EQ(peer_.ask(concat("fill ", index(0), " 8")), "ok");
  EXPECT_EQ(lender_.bytes_of(0), bytes_like(8));
  EXPECT_EQ(peer_.ask("give_back " + index(0)), "ok");
  expect_freed_clean(0, 2);
}

TEST_F(Borrowers, ShowingAnOldSecretOrNoneAreRefused) {
  const LeasedSlab old = lender_.lease(0);
  borrow(peer_, 0, 5);
  peer_.kill();
  expect_freed_clean(0, 2);
  Peer late;
  EXPECT_EQ(late.ask(import_command(old)), "aborted");
  LeasedSlab guess = lender_.lease(0);
  guess.secret = random_id<LeaseTag>();
  EXPECT_EQ(late.ask(import_command(guess)), "permission_denied");
  EXPECT_EQ(lender_.now(0).custody, Custody::free);
  EXPECT_EQ(lender_.now(0).generation, 2U);
}

TEST_F(Borrowers, CannotTakeTheIdOfALiveProcess) {
  const std::string be = "id " + to_string(random_id<ClientTag>());
  ASSERT_EQ(peer_.ask(be), "ok");
  borrow(peer_, 0, 5);
  Peer thief;
  ASSERT_EQ(thief.ask(be), "ok");
  EXPECT_EQ(thief.ask(import_command(lender_.lease(0))), "permission_denied");
  EXPECT_EQ(thief.ask(import_command(lender_.lease(1))), "permission_denied");
  peer_.kill();
  expect_freed_clean(0, 2);
  EXPECT_EQ(thief.ask(import_command(lender_.lease(1))), "ok") << "now it is nobody else's";
}

}  // namespace
}  // namespace aqua::lending
