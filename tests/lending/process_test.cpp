// Lender and borrower as two processes, of which either may stop or die at any moment.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sstream>

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

  [[nodiscard]] std::string index(std::size_t i) const { return std::to_string(lender_.offered(i).index); }
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

// A peer lends, we borrow.
class LendingPeer : public testing::Test {
 protected:
  LendingPeer() {
    std::istringstream answer(peer_.ask(concat("export ", path_.str(), " 4")));
    std::string producer;
    answer >> producer;
    for (LeasedSlab& lease : leases_) {
      std::string secret;
      answer >> lease.key.index >> lease.key.generation >> secret;
      lease.key.producer = parse_id<ClientTag>(producer).value();
      lease.secret = parse_id<LeaseTag>(secret).value();
      lease.bytes = kSlab;
      lease.exchange = path_.str();
    }
  }
  // Until the peer says of slab `i`, say, "2 free".
  [[nodiscard]] bool becomes(std::size_t i, const std::string& custody) {
    return wait_until([&] { return peer_.ask(concat("custody ", leases_[i].key.index)) == custody; });
  }
  [[nodiscard]] std::byte* at(std::size_t i) const {
    return importer_->base() + importer_->find(leases_[i].key).value().offset;
  }

  SocketPath path_;
  Peer peer_;
  std::vector<LeasedSlab> leases_ = std::vector<LeasedSlab>(4);
  std::unique_ptr<device::Device> gpu_ = open_gpu(1);
  std::unique_ptr<Importer> importer_ = open_importer(*gpu_);
};

TEST_F(LendingPeer, ThatIsKilledTakesNoByteWithIt) {
  ASSERT_TRUE(succeeds(importer_->import(leases_)));
  device::upload(*gpu_, at(1), bytes_like(5));
  peer_.kill();
  EXPECT_EQ(device::download(*gpu_, at(1), kSlab), bytes_like(5));
  device::upload(*gpu_, at(2), bytes_like(6));
  EXPECT_EQ(device::download(*gpu_, at(2), kSlab), bytes_like(6));
  const std::size_t before = slab_mappings();
  EXPECT_CODE(Code::unavailable, importer_->give_back(leases_[1].key));
  EXPECT_EQ(slab_mappings(), before - 1);
  EXPECT_CODE(Code::unavailable, importer_->import(std::vector{leases_[1]}));
}

TEST_F(LendingPeer, ThatIsStoppedHearsOfReturnsWhenItGoesOn) {
  ASSERT_TRUE(succeeds(importer_->import(leases_)));
  peer_.stop();
  for (const LeasedSlab& lease : leases_) EXPECT_TRUE(succeeds(importer_->give_back(lease.key)));
  importer_.reset();  // not even the socket is left
  peer_.resume();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(becomes(i, "2 free")) << i;
}

TEST_F(LendingPeer, ThatIsStoppedCannotGrantLaterWhatWasGivenUp) {
  ASSERT_TRUE(succeeds(importer_->import(std::vector{leases_[0]})));
  peer_.stop();
  EXPECT_CODE(Code::unavailable, importer_->import(leases_));
  EXPECT_EQ(importer_->all().size(), 1U);
  peer_.resume();
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(becomes(i, "2 free")) << i;
  EXPECT_TRUE(becomes(0, "1 held"));
  EXPECT_TRUE(succeeds(importer_->give_back(leases_[0].key)));
  EXPECT_TRUE(becomes(0, "2 free")) << "the connection is in step";
}

TEST_F(LendingPeer, ThatIsStoppedIsUnavailableToNewBorrowers) {
  peer_.stop();
  EXPECT_CODE(Code::unavailable, importer_->import(leases_));
  peer_.resume();
  EXPECT_TRUE(succeeds(importer_->import(leases_)));
}

// Leaves this process `more` descriptors at most.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    ::getrlimit(RLIMIT_NOFILE, &saved_);
    const UniqueFd next(::dup(STDERR_FILENO));
    const rlimit few{static_cast<rlim_t>(next.get()) + more, saved_.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) std::abort();
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &saved_); }

 private:
  rlimit saved_{};
};

TEST_F(LendingPeer, LosesNothingWhenWeRunOutOfDescriptors) {
  ASSERT_TRUE(succeeds(importer_->import(std::vector{leases_[0]})));
  const std::size_t descriptors = open_descriptors();
  const std::size_t mappings = slab_mappings();
  {
    const FewDescriptors few(2);
    EXPECT_CODE(Code::resource_exhausted, importer_->import(leases_));
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(slab_mappings(), mappings);
  EXPECT_EQ(importer_->all().size(), 1U);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(becomes(i, "2 free")) << i;
  EXPECT_TRUE(becomes(0, "1 held"));
}

}  // namespace
}  // namespace aqua::lending
