// SPDX-License-Identifier: Apache-2.0
// What the kernel keeps a hostile reader of a sealed slab from, and what an importer refuses.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cerrno>
#include <string>

#include "tests/device/contract.hpp"
#include "tests/device/memfd/memfds.hpp"

namespace aqua::device {
namespace {

constexpr int kSealed = kLentSeals | F_SEAL_WRITE;

class SealedSlabs : public Contract {
 protected:
  // One that is open, and mapped to be written.
  [[nodiscard]] Place open_slab() {
    return place_slab(*device_, device_->create_slab(kBytes, SlabUse::publish).value());
  }
};
AQUA_MEMFD_SUITE(SealedSlabs);

// By its descriptor, and by one that was opened again through /proc.
TEST_P(SealedSlabs, AHostileReaderChangesNothing) {
  Place place = open_slab();
  upload(*device_, place.base(), pattern(kBytes, 1));
  EXPECT_OK(device_->unmap(*place.range, 0, kBytes));
  EXPECT_EQ(device_->seal(*place.slab).value(), WriteProtection::enforced);
  const UniqueFd given = device_->export_slab(*place.slab).value();
  const UniqueFd reopened(
      ::open(("/proc/self/fd/" + std::to_string(given.get())).c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(reopened.valid()) << "the seal protects, not the descriptor's mode";
  for (const int fd : {given.get(), reopened.get()}) {
    EXPECT_EQ(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    void* const mapped = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) {  // an older kernel refuses this of a descriptor that can write
      EXPECT_EQ(::mprotect(mapped, kBytes, PROT_READ | PROT_WRITE), -1);
      EXPECT_EQ(::munmap(mapped, kBytes), 0);
    }
    EXPECT_EQ(::pwrite(fd, "x", 1, 0), -1);
    EXPECT_EQ(::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kBytes), -1);
    EXPECT_EQ(::ftruncate(fd, 0), -1);
    EXPECT_EQ(::fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
  }
  EXPECT_OK(device_->map(*place.range, 0, *place.slab, MapAccess::read_only));
  EXPECT_TRUE(download(*device_, place.base(), kBytes) == pattern(kBytes, 1));
}

TEST_P(SealedSlabs, AForkedChildThatCouldStillWriteKeepsASlabFromBeingSealed) {
  const Place place = open_slab();
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  EXPECT_OK(device_->unmap(*place.range, 0, kBytes));
  EXPECT_CODE(Code::failed_precondition, device_->seal(*place.slab));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_OK(device_->seal(*place.slab));
}

TEST_P(SealedSlabs, AnImporterWantsExactlyTheSealsOfItsUse) {
  const auto import = [&](UniqueFd fd) {
    return device_->import_slab(std::move(fd), kBytes, SlabUse::publish);
  };
  EXPECT_OK(import(memfd(kBytes, kSealed)));
  for (const int seals : {kLentSeals, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE,
                          kLentSeals | F_SEAL_FUTURE_WRITE, F_SEAL_WRITE | F_SEAL_SEAL}) {
    EXPECT_CODE(Code::invalid_argument, import(memfd(kBytes, seals))) << seals;
  }
  EXPECT_CODE(Code::invalid_argument, device_->import_slab(memfd(kBytes, kSealed), kBytes))
      << "what is lent must stay writable";
  EXPECT_CODE(Code::invalid_argument, import(memfd(2 * kBytes, kSealed)));
  EXPECT_CODE(Code::invalid_argument, import(UniqueFd()));
}

TEST_P(SealedSlabs, ADescriptorThatOnlyReadsIsEnough) {
  const UniqueFd writable = memfd(kBytes, kSealed);
  const std::string path = "/proc/self/fd/" + std::to_string(writable.get());
  const auto open = [&](int mode) { return UniqueFd(::open(path.c_str(), mode | O_CLOEXEC)); };
  EXPECT_OK(device_->import_slab(open(O_RDONLY), kBytes, SlabUse::publish));
  EXPECT_CODE(Code::invalid_argument,
              device_->import_slab(open(O_WRONLY), kBytes, SlabUse::publish));
}

}  // namespace
}  // namespace aqua::device
