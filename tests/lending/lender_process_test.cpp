// Lender and borrower as two processes: the lender may stop or die at any moment.
#include <gtest/gtest.h>

#include <sstream>

#include "base/concat.hpp"
#include "lending/peer_process.hpp"
#include "lending/support.hpp"

namespace aqua::lending {
namespace {

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
    return wait_until(
        [&] { return peer_.ask(concat("custody ", leases_[i].key.index)) == custody; });
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
