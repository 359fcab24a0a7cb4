// SPDX-License-Identifier: Apache-2.0
// What opening a GPU says where there is none: on a machine without a driver, in a build
// without CUDA, in a process that is shown none.
#include "device/cuda/device.hpp"
#include "device/memfd/device.hpp"
#include "tests/device/contract.hpp"
#include "tests/without_gpus.hpp"

namespace aqua::device {
namespace {

void expect_every_door_says_why() {
  const auto available = cuda_available();
  ASSERT_FALSE(available.ok());
  const Code code = available.error().code;
  EXPECT_TRUE(code == Code::unavailable || code == Code::unimplemented)
      << available.error().message;
  EXPECT_NE(available.error().message.find("CUDA"), std::string::npos);
  EXPECT_CODE(code, open_cuda({}));
}

TEST(CudaOpen, WithoutAGpuEveryDoorSaysWhy) {
  test::without_gpus(expect_every_door_says_why);
}

TEST(CudaOpen, AGpuThatIsNotThereIsNotFound) {
  if (const auto available = cuda_available(); !available.ok()) {
    GTEST_SKIP() << available.error().message;
  }
  EXPECT_CODE(Code::not_found, open_cuda({.device = "cuda:4096"}));
  EXPECT_CODE(Code::not_found, open_cuda({.device = "GPU-00000000-0000-0000-0000-000000000000"}));
  EXPECT_CODE(Code::invalid_argument, open_cuda({.device = "cuda:first"}));
}

TEST(CudaOpen, WhatOnlyAGpuCanDoIsRefusedOnAnotherDevice) {
  const auto host = open_host({.total_bytes = 2_MiB}).value();
  for (const Code code :
       {share_offer(*host).error().code, import_fabric(*host, {}, 2_MiB).error().code}) {
    EXPECT_TRUE(code == Code::invalid_argument || code == Code::unimplemented);
  }
}

}  // namespace
}  // namespace aqua::device
