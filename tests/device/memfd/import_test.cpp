// SPDX-License-Identifier: Apache-2.0
// What an importer of memfd slabs refuses, and what runs out.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string>

#include "device/memfd/device.hpp"
#include "tests/device/contract.hpp"
#include "tests/device/memfd/memfds.hpp"

namespace aqua::device {
namespace {

auto open_descriptors() {
  const std::filesystem::directory_iterator directory("/proc/self/fd");
  return std::distance(begin(directory), end(directory));
}

class MemfdSlabs : public Contract {};
AQUA_MEMFD_SUITE(MemfdSlabs);

TEST_P(MemfdSlabs, ASealedMemfdOfTheRightSizeIsImported) {
  EXPECT_OK(device_->import_slab(memfd(kBytes, kLentSeals), kBytes));
}

// As every memfd is on a host with vm.memfd_noexec=1.
TEST_P(MemfdSlabs, OneSealedAgainstExecutionAsWellIsImported) {
  UniqueFd fd = memfd(kBytes, kLentSeals, MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (!fd.valid()) GTEST_SKIP() << "this kernel has no such seal";
  ASSERT_NE(::fcntl(fd.get(), F_GET_SEALS), kLentSeals);
  EXPECT_OK(device_->import_slab(std::move(fd), kBytes));
}

TEST_P(MemfdSlabs, ASlabCannotBeExecuted) {
  if (!memfd(kBytes, 0, MFD_NOEXEC_SEAL).valid()) GTEST_SKIP() << "this kernel has no such seal";
  const auto slab = device_->create_slab(kBytes);
  ASSERT_TRUE(slab.ok());
  struct stat info {};
  ASSERT_EQ(::fstat(device_->export_slab(**slab)->get(), &info), 0);
  EXPECT_EQ(info.st_mode & 0111, 0U);
}

TEST_P(MemfdSlabs, AFileThatItsSenderCouldStillTruncateIsRefused) {
  for (const int seals : {0, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SHRINK | F_SEAL_GROW}) {
    EXPECT_CODE(Code::invalid_argument, device_->import_slab(memfd(kBytes, seals), kBytes));
  }
}

TEST_P(MemfdSlabs, AFileThatCannotBeWrittenIsRefused) {
  EXPECT_CODE(Code::invalid_argument,
              device_->import_slab(memfd(kBytes, kLentSeals | F_SEAL_WRITE), kBytes));
  const UniqueFd writable = memfd(kBytes, kLentSeals);
  const std::string path = "/proc/self/fd/" + std::to_string(writable.get());
  EXPECT_CODE(Code::invalid_argument,
              device_->import_slab(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), kBytes));
}

TEST_P(MemfdSlabs, AFileOfAnotherSizeIsRefused) {
  EXPECT_CODE(Code::invalid_argument, device_->import_slab(memfd(kBytes - 1, kLentSeals), kBytes));
  EXPECT_CODE(Code::invalid_argument, device_->import_slab(memfd(2 * kBytes, kLentSeals), kBytes));
}

TEST_P(MemfdSlabs, WhatIsNotAMemfdIsRefused) {
  EXPECT_CODE(Code::invalid_argument, device_->import_slab(UniqueFd(), kBytes));
  for (const char* path : {"/dev/zero", "/", "/proc/self/exe"}) {
    EXPECT_CODE(Code::invalid_argument,
                device_->import_slab(UniqueFd(::open(path, O_RDONLY | O_CLOEXEC)), kBytes))
        << path;
  }
}

TEST_P(MemfdSlabs, ARefusedImportLeaksNoDescriptor) {
  const auto before = open_descriptors();
  EXPECT_CODE(Code::invalid_argument, device_->import_slab(memfd(kBytes, 0), kBytes));
  EXPECT_CODE(Code::invalid_argument, device_->import_slab(memfd(kBytes, kLentSeals), kBytes + 1));
  EXPECT_EQ(open_descriptors(), before);
}

TEST_P(MemfdSlabs, DescriptorsAreClosedOnExec) {
  const auto slab = device_->create_slab(kBytes);
  ASSERT_TRUE(slab.ok());
  const auto fd = device_->export_slab(**slab);
  ASSERT_TRUE(fd.ok());
  EXPECT_NE(::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_P(MemfdSlabs, WithoutDescriptorsNothingIsCreatedAndNothingChanges) {
  const auto slab = device_->create_slab(kBytes);
  ASSERT_TRUE(slab.ok());
  const std::size_t before = device_->free_bytes();
  rlimit saved{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &saved), 0);
  const rlimit none{1, saved.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto created = device_->create_slab(kBytes);
  const auto exported = device_->export_slab(**slab);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &saved), 0);
  EXPECT_CODE(Code::resource_exhausted, created);
  EXPECT_CODE(Code::resource_exhausted, exported);
  EXPECT_EQ(device_->free_bytes(), before);
  EXPECT_OK(device_->create_slab(kBytes));
}

TEST_P(MemfdSlabs, AForkedChildInheritsNoImportedMapping) {
  const Place lent = make_place(*device_, kBytes);
  auto slab = device_->import_slab(device_->export_slab(*lent.slab).value(), kBytes);
  ASSERT_TRUE(slab.ok());
  const Place borrowed = place_slab(*device_, std::move(slab).value());
  std::byte* const view = kernel_view(borrowed.base());
  unsigned char resident = 0;
  ASSERT_EQ(::mincore(view, 1, &resident), 0) << "mapped here";
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::mincore(view, 1, &resident) == -1 && errno == ENOMEM ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace aqua::device
