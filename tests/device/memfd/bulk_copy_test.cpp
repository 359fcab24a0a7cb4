// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/bulk_copy.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "tests/device/device_kinds.hpp"

namespace aqua::device {
namespace {

constexpr std::size_t kSizes[] = {0,     1,     63,    64,     4'095,  4'096,
                                  4'097, 8'191, 8'193, 16'384, 65'543, 300'001};
constexpr std::size_t kShifts[] = {0, 1, 8, 31, 32, 63};

TEST(BulkCopy, MovesExactlyItsBytes) {
  const auto source = pattern(400'000, 1);
  const auto background = pattern(400'000, 2);
  for (const std::size_t bytes : kSizes) {
    for (const std::size_t to : kShifts) {
      for (const std::size_t from : kShifts) {
        auto out = background;
        bulk_copy(out.data() + to, source.data() + from, bytes, source.data());
        bulk_finish();
        auto expected = background;
        std::copy_n(source.data() + from, bytes, expected.data() + to);
        ASSERT_TRUE(out == expected) << bytes << " bytes, " << from << " -> " << to;
      }
    }
  }
}

TEST(BulkZero, ClearsExactlyItsBytes) {
  const auto background = pattern(400'000, 3);
  for (const std::size_t bytes : kSizes) {
    for (const std::size_t to : kShifts) {
      auto out = background;
      bulk_zero(out.data() + to, bytes);
      bulk_finish();
      auto expected = background;
      std::fill_n(expected.data() + to, bytes, std::byte{0});
      ASSERT_TRUE(out == expected) << bytes << " bytes at " << to;
    }
  }
}

TEST(BulkCopy, TouchesNothingBesideItsBlocks) {
  // One block in the middle of inaccessible pages, pressed against either end of its own.
  constexpr std::size_t kPage = 4'096;
  constexpr std::size_t kBlock = 4 * kPage;
  void* raw =
      ::mmap(nullptr, 2 * kBlock + 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(raw, MAP_FAILED);
  auto* a = static_cast<std::byte*>(raw) + kPage;
  auto* b = a + kBlock + kPage;
  ASSERT_EQ(::mprotect(a, kBlock, PROT_READ | PROT_WRITE), 0);
  ASSERT_EQ(::mprotect(b, kBlock, PROT_READ | PROT_WRITE), 0);
  for (std::size_t bytes = kBlock - 130; bytes <= kBlock; ++bytes) {
    bulk_copy(b, a + kBlock - bytes, bytes);
    bulk_copy(b + kBlock - bytes, a, bytes);
    bulk_zero(b + kBlock - bytes, bytes);
    bulk_zero(b, bytes);
  }
  bulk_finish();
  ::munmap(raw, 2 * kBlock + 3 * kPage);
}

}  // namespace
}  // namespace aqua::device
