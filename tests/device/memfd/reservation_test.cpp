// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/reservation.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <fstream>

#include "tests/base/sanitized.hpp"
#include "tests/device/memfd/memfds.hpp"

namespace aqua::device {
namespace {

std::size_t most_mappings() {
  std::size_t most = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  return most;
}

// Has as many mappings as a process may: every second page of a range is one.
class AllMappings {
 public:
  AllMappings() {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    bytes_ = (most_mappings() + 2) * page;
    range_ = ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(range_, MAP_FAILED);
    int failed = 0;
    for (std::size_t at = page; failed == 0 && at < bytes_; at += 2 * page) {
      if (::mprotect(static_cast<std::byte*>(range_) + at, page, PROT_READ) != 0) failed = errno;
    }
    EXPECT_EQ(failed, ENOMEM);
  }
  ~AllMappings() { EXPECT_EQ(::munmap(range_, bytes_), 0); }
  AllMappings(const AllMappings&) = delete;
  AllMappings& operator=(const AllMappings&) = delete;

 private:
  std::size_t bytes_ = 0;
  void* range_ = nullptr;
};

TEST(Reservation, WithoutAMappingMoreRefusesAFileAndMapsItLater) {
#ifdef AQUA_SANITIZED
  GTEST_SKIP() << "a sanitizer maps memory of its own";
#endif
  if (most_mappings() > 1'000'000) GTEST_SKIP() << "too many mappings to have them all";
  auto reservation = Reservation::open(4 * kBytes, kBytes);
  ASSERT_TRUE(reservation.ok()) << reservation.error().message;
  const UniqueFd file = memfd(kBytes, 0);
  const std::byte byte{7};
  ASSERT_EQ(::pwrite(file.get(), &byte, 1, 0), 1);
  const auto map = [&] { return reservation->map_file(kBytes, file.get(), kBytes, false, false); };
  Result<void> refused;
  {
    const AllMappings all;
    refused = map();
  }
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::resource_exhausted) << refused.error().message;
  const auto mapped = map();
  ASSERT_TRUE(mapped.ok()) << mapped.error().message;
  EXPECT_EQ(reservation->base()[kBytes], byte);
}

// Large enough for the pages to be taken out of the mapping by several threads.
TEST(Reservation, ALargeFileKeepsItsBytesWhenItIsClearedAndSoDoesItsNeighbour) {
  constexpr std::size_t kLarge = std::size_t{160} << 20, kStep = std::size_t{1} << 20;
  auto reservation = Reservation::open(kLarge + kBytes, kBytes);
  ASSERT_TRUE(reservation.ok()) << reservation.error().message;
  const UniqueFd file = memfd(kLarge, 0);
  const UniqueFd beside = memfd(kBytes, 0);
  std::byte* const base = reservation->base();
  const auto map = [&] { return reservation->map_file(0, file.get(), kLarge, false, true); };
  ASSERT_TRUE(map().ok());
  ASSERT_TRUE(reservation->map_file(kLarge, beside.get(), kBytes, false, true).ok());
  for (std::size_t at = 0; at < kLarge; at += kStep) base[at] = std::byte(at / kStep + 1);
  base[kLarge - 1] = base[kLarge] = std::byte{77};
  const auto cleared = reservation->clear(0, kLarge);
  ASSERT_TRUE(cleared.ok()) << cleared.error().message;
  EXPECT_EQ(base[kLarge], std::byte{77});
  EXPECT_NE(::msync(base, kLarge, MS_ASYNC), -1) << "no gap is left";
  ASSERT_TRUE(map().ok());
  for (std::size_t at = 0; at < kLarge; at += kStep) {
    ASSERT_EQ(base[at], std::byte(at / kStep + 1)) << at;
  }
  EXPECT_EQ(base[kLarge - 1], std::byte{77});
}

}  // namespace
}  // namespace aqua::device
