// SPDX-License-Identifier: Apache-2.0
// The process that borrows: fills what it is leased with stamped tensors, and checks them later.
#pragma once

#include "device/device.hpp"
#include "forked_process.hpp"
#include "harness.hpp"
#include "reclaim_bench/options.hpp"

namespace aqua::bench {

class ConsumerProcess {
 public:
  // Forks, see ForkedProcess.
  ConsumerProcess(const ReclaimOptions& options, const Coordinator& coordinator);

  // Once all that the options say is leased: returns when it is full of tensors.
  void fill() { ask('f'); }
  // Ends the program where a byte has changed.
  void check() { ask('c'); }

  // What its device says really ran of its copies between the last fill() and check().
  [[nodiscard]] device::CopyCounts ran();

  // Until it has opened its device and has its host memory.
  void wait_open() { ask('o'); }

 private:
  void ask(char command);

  ForkedProcess process_;
};

}  // namespace aqua::bench
