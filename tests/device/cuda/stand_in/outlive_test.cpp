// SPDX-License-Identifier: Apache-2.0
// A dead process's queued work, while a child of it holds its files open. On a GPU that work runs:
// it goes with the last of these files, not with the process.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/unique_fd.hpp"
#include "tests/device/cuda/stand_in/on_stand_in.hpp"
#include "tests/device/cuda/stand_in/raw_driver.hpp"

namespace aqua::device {
namespace {

class Outlive : public OnStandIn {
 protected:
  static constexpr std::size_t kBytes = 4'096;

  void SetUp() override {
    OnStandIn::SetUp();
    if (driver_ == nullptr) return;
    place_ = make_place(*device_, 4_MiB);
    upload(*device_, place_.base() + 2_MiB, stray_);
    upload(*device_, place_.base(), std::vector<std::byte>(kBytes));
  }

  struct Ends {
    UniqueFd read, write;
  };
  static Ends pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
  }

  // A process that queues a copy of the stray bytes to where they do not belong and is killed. The
  // child that it may leave waits at `go` until the GPU is to go on, and tells at `ran` what it
  // ran.
  void run_borrower(const RawDriver& raw, bool leaves_child, const Ends& go, const Ends& ran) {
    const pid_t borrower = ::fork();
    ASSERT_GE(borrower, 0);
    if (borrower == 0) {
      ::alarm(60);
      CUstream stream = nullptr;
      const auto to = reinterpret_cast<CUdeviceptr>(place_.base());
      if (raw.call.StreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) ::_exit(1);
      (void)driver_->gate(stream);
      if (raw.call.MemcpyAsync(to, to + 2_MiB, kBytes, stream) != CUDA_SUCCESS) ::_exit(1);
      if (leaves_child && ::fork() == 0) {
        char letter = 0;
        if (::read(go.read.get(), &letter, 1) != 1) ::_exit(1);
        const char pieces = static_cast<char>(driver_->outlive());
        ::_exit(::write(ran.write.get(), &pieces, 1) == 1 ? 0 : 1);
      }
      (void)::raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(borrower, &status, 0), borrower);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  }

  Place place_;
  const std::vector<std::byte> stray_ = pattern(kBytes, 3);
};

TEST_F(Outlive, QueuedWorkDiesWithAProcessThatNobodyInherits) {
  const RawDriver raw;
  run_borrower(raw, false, pipe(), pipe());
  EXPECT_EQ(download(*device_, place_.base(), kBytes), std::vector<std::byte>(kBytes));
}

TEST_F(Outlive, AForkedChildKeepsItAliveAndItLandsAfterTheNextTenantHasWritten) {
  const RawDriver raw;
  const Ends go = pipe();
  Ends ran = pipe();
  run_borrower(raw, true, go, ran);
  EXPECT_EQ(download(*device_, place_.base(), kBytes), std::vector<std::byte>(kBytes));
  upload(*device_, place_.base(), pattern(kBytes, 4));  // scrubbed and lent again, say
  ASSERT_EQ(::write(go.write.get(), "g", 1), 1);
  ran.write.reset();
  char pieces = 0;
  ASSERT_EQ(::read(ran.read.get(), &pieces, 1), 1);
  EXPECT_EQ(pieces, 2) << "the gate and the copy";
  EXPECT_EQ(download(*device_, place_.base(), kBytes), stray_);
}

}  // namespace
}  // namespace aqua::device
