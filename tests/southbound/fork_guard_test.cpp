// SPDX-License-Identifier: Apache-2.0
#include "base/fork_guard.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace aqua {
namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

// Runs check() in a forked child; its result.
template <typename Check>
bool in_child(Check check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

UniqueFd some_fd() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

TEST(ForkGuard, ChildHasTheDescriptorClosedAndTheParentKeepsIt) {
  const ForkGuardedFd guarded(some_fd());
  const int fd = guarded.get();
  EXPECT_TRUE(in_child([&] { return !is_open(fd); }));
  EXPECT_TRUE(is_open(fd));
}

TEST(ForkGuard, ChildNeverClosesANumberThatIsSomebodyElsesByThen) {
  ForkGuardedFd guarded(some_fd());
  EXPECT_TRUE(in_child([&] {
    const int number = guarded.get();
    if (::dup2(STDERR_FILENO, number) != number) return false;
    guarded.reset();
    return is_open(number);
  }));
}

TEST(ForkGuard, MovedDescriptorIsGuardedOnceAndClosedOnce) {
  ForkGuardedFd first(some_fd());
  const int fd = first.get();
  ForkGuardedFd second(std::move(first));
  first = std::move(second);
  EXPECT_TRUE(in_child([&] { return !is_open(fd); }));
  first.reset();
  EXPECT_FALSE(is_open(fd));
}

TEST(ForkGuard, GenerationTellsAChildFromItsParent) {
  const auto here = fork_generation();
  EXPECT_TRUE(in_child([&] { return fork_generation() != here; }));
  EXPECT_EQ(fork_generation(), here);
}

TEST(ForkGuard, DescriptorMadeInTheChildIsClosedThere) {
  EXPECT_TRUE(in_child([] {
    ForkGuardedFd made(some_fd());
    const int fd = made.get();
    made.reset();
    return !is_open(fd);
  }));
}

}  // namespace
}  // namespace aqua
