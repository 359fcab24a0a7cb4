// SPDX-License-Identifier: Apache-2.0
// Lender and borrower as two processes: the lender may stop at any moment.
#include "tests/lending/lenders.hpp"

namespace aqua::lending {
namespace {

class StoppedLender : public Lenders {};
AQUA_CONTRACT_SUITE(StoppedLender);

TEST_P(StoppedLender, HearsOfReturnsWhenItGoesOn) {
  ASSERT_TRUE(succeeds(importer_->import(leases_)));
  peer_->stop();
  for (const LeasedSlab& lease : leases_) EXPECT_TRUE(succeeds(importer_->give_back(lease.key)));
  importer_.reset();  // not even the socket is left
  peer_->resume();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(becomes(i, "2 free")) << i;
}

TEST_P(StoppedLender, CannotGrantLaterWhatWasGivenUp) {
  ASSERT_TRUE(succeeds(importer_->import(std::vector{leases_[0]})));
  peer_->stop();
  EXPECT_CODE(Code::unavailable, importer_->import(leases_));
  EXPECT_EQ(importer_->all().size(), 1U);
  peer_->resume();
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(becomes(i, "2 free")) << i;
  EXPECT_TRUE(becomes(0, "1 held"));
  EXPECT_TRUE(succeeds(importer_->give_back(leases_[0].key)));
  EXPECT_TRUE(becomes(0, "2 free")) << "the connection is in step";
}

TEST_P(StoppedLender, IsUnavailableToNewBorrowers) {
  peer_->stop();
  EXPECT_CODE(Code::unavailable, importer_->import(leases_));
  peer_->resume();
  EXPECT_TRUE(succeeds(importer_->import(leases_)));
}

}  // namespace
}  // namespace aqua::lending
