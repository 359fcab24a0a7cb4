// SPDX-License-Identifier: Apache-2.0
// What opening a GPU says where there is none: on a machine without a driver, in a build
// without CUDA, in a process that is shown none.
#include "device/cuda/device.hpp"
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

}  // namespace
}  // namespace aqua::device
