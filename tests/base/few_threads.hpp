// SPDX-License-Identifier: Apache-2.0
// FewThreads is a machine that has only so many threads left, for as long as it lives: each wants a
// stack for which there is no more room. A process under AddressSanitizer or ThreadSanitizer takes
// 0 only.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace aqua::test {

class FewThreads {
 public:
  explicit FewThreads(std::size_t left) {
    pthread_getattr_default_np(&stack_before_);
    EXPECT_EQ(::getrlimit(RLIMIT_AS, &room_before_), 0);
    pthread_attr_t large;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, left == 0 ? std::size_t{1} << 50 : kStackBytes);
    pthread_setattr_default_np(&large);
    pthread_attr_destroy(&large);
    if (left == 0) return;
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const std::size_t taken = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    // Three quarters of a stack are for what else is mapped meanwhile.
    const rlimit room{.rlim_cur = taken + left * kStackBytes + kStackBytes / 4 * 3,
                      .rlim_max = room_before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &room), 0);
  }
  ~FewThreads() {
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &room_before_), 0);
    pthread_setattr_default_np(&stack_before_);
    pthread_attr_destroy(&stack_before_);
  }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;

 private:
  static constexpr std::size_t kStackBytes = std::size_t{512} << 20;

  pthread_attr_t stack_before_;
  rlimit room_before_;
};

}  // namespace aqua::test
