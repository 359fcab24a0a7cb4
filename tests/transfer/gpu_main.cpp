// SPDX-License-Identifier: Apache-2.0
// The transfer suites on a GPU. Exit status 77, with the reason, where there is none.
#include <gtest/gtest.h>

#include <cstdio>

#include "device/cuda/device.hpp"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (const auto available = aqua::device::cuda_available(); !available.ok()) {
    std::printf("skipped: %s\n", available.error().message.c_str());
    return 77;
  }
  // Open all the while: else every test would make a context of its own.
  const auto device = aqua::device::open_cuda({});
  if (!device.ok()) {
    std::fprintf(stderr, "gpu_transfer_test: %s\n", device.error().message.c_str());
    return 1;
  }
  return RUN_ALL_TESTS();
}
