// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/carry/mapped_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace aqua::courier {
namespace {

constexpr std::size_t kBytes = std::size_t{20} << 20;

class MappedFileTest : public ::testing::Test {
 protected:
  MappedFileTest() {
    EXPECT_EQ(::ftruncate(file_.get(), kBytes), 0);
    EXPECT_EQ(::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  }
  [[nodiscard]] std::size_t taken() const {
    struct stat status {};
    EXPECT_EQ(::fstat(file_.get(), &status), 0);
    return static_cast<std::size_t>(status.st_blocks) * 512;
  }

  const UniqueFd file_ = create_memfd("aqua-test");
};

TEST_F(MappedFileTest, IsTakenWholeToBeWritten) {
  EXPECT_TRUE(MappedFile::map(file_.get(), kBytes, /*writable=*/false).ok());
  EXPECT_EQ(taken(), 0U);
  const auto mapped = MappedFile::map(file_.get(), kBytes, /*writable=*/true);
  ASSERT_TRUE(mapped.ok()) << mapped.error().message;
  EXPECT_EQ(taken(), kBytes);
}

TEST_F(MappedFileTest, WhichCannotBeTakenIsRefused) {
  const auto mapped = MappedFile::map(file_.get(), 2 * kBytes, /*writable=*/true);
  ASSERT_FALSE(mapped.ok());
  EXPECT_EQ(mapped.error().code, Code::permission_denied) << mapped.error().message;
}

}  // namespace
}  // namespace aqua::courier
