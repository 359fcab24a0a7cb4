// SPDX-License-Identifier: Apache-2.0
// A fork of the test that does nothing, and has all that its parent had, until it is told to end.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace aqua::test {

class ForkedChild {
 public:
  ForkedChild() {
    int gate[2];
    EXPECT_EQ(::pipe(gate), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      char byte = 0;
      ::close(gate[1]);
      (void)!::read(gate[0], &byte, 1);
      ::_exit(0);
    }
    ::close(gate[0]);
    gate_ = gate[1];
  }
  ~ForkedChild() { end(); }
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;

  // Returns when it has ended.
  void end() {
    if (gate_ < 0) return;
    ::close(gate_);
    gate_ = -1;
    EXPECT_EQ(::waitpid(pid_, nullptr, 0), pid_);
  }

 private:
  int gate_ = -1;
  pid_t pid_ = -1;
};

}  // namespace aqua::test
