// SPDX-License-Identifier: Apache-2.0
// The process that borrows: fills what it is leased with stamped tensors, and checks them later.
#pragma once

#include <sys/types.h>

#include "device/device.hpp"
#include "harness.hpp"
#include "reclaim_bench/options.hpp"

namespace aqua::bench {

class ConsumerProcess {
 public:
  // Forks: before this process has threads, and before it opens a device.
  ConsumerProcess(const ReclaimOptions& options, const Coordinator& coordinator);
  ~ConsumerProcess();
  ConsumerProcess(const ConsumerProcess&) = delete;
  ConsumerProcess& operator=(const ConsumerProcess&) = delete;

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

  int to_ = -1, from_ = -1;
  pid_t pid_ = 0;
};

}  // namespace aqua::bench
