// SPDX-License-Identifier: Apache-2.0
// Another process that borrows what a pool lends: it fills all of it with stamped tensors, and
// compares them later.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "harness.hpp"

namespace aqua::bench {

class BorrowerProcess {
 public:
  // Forks: before this process has threads, and before it opens a device.
  explicit BorrowerProcess(const Coordinator& coordinator);
  ~BorrowerProcess();  // ends it
  BorrowerProcess(const BorrowerProcess&) = delete;
  BorrowerProcess& operator=(const BorrowerProcess&) = delete;

  // Once so many bytes are leased: fills them. Answers how many of its tensors' bytes lie in lent
  // memory. The program ends where it waits for longer than a minute.
  [[nodiscard]] std::size_t borrow(std::size_t bytes) { return ask('b', bytes); }
  // Compares them all. Answers how many bytes that were in lent memory are as they were written;
  // the program ends where one is not.
  [[nodiscard]] std::size_t check() { return ask('c', 0); }

 private:
  struct Message {
    char command = 0;  // '!' as an answer: it has failed
    std::size_t bytes = 0;
  };
  static void serve(const Coordinator& coordinator, int in, int out);
  std::size_t ask(char command, std::size_t bytes);

  int to_ = -1, from_ = -1;
  pid_t pid_ = 0;
};

}  // namespace aqua::bench
