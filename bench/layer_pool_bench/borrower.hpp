// SPDX-License-Identifier: Apache-2.0
// Another process that borrows what a pool lends: it fills all of it with stamped tensors, and
// compares them later.
#pragma once

#include <cstddef>

#include "forked_process.hpp"
#include "harness.hpp"

namespace aqua::bench {

class BorrowerProcess {
 public:
  explicit BorrowerProcess(const Coordinator& coordinator);  // forks, see ForkedProcess

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

  ForkedProcess process_;
};

}  // namespace aqua::bench
