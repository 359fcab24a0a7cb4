// SPDX-License-Identifier: Apache-2.0
// A borrower's mappings and descriptors, counted: only memfd's appear in /proc/self, a GPU's not.
#include "tests/lending/lenders.hpp"

namespace aqua::lending {
namespace {

class BorrowedMappings : public Lenders {};
AQUA_MEMFD_SUITE(BorrowedMappings);

TEST_P(BorrowedMappings, GoOneByOneAlsoWhenTheLenderIsDead) {
  ASSERT_TRUE(succeeds(importer_->import(leases_)));
  const std::size_t before = slab_mappings();
  peer_->kill();
  EXPECT_CODE(Code::unavailable, importer_->give_back(leases_[1].key));
  EXPECT_EQ(slab_mappings(), before - 1);
}

TEST_P(BorrowedMappings, AreNotLostWhenWeRunOutOfDescriptors) {
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
