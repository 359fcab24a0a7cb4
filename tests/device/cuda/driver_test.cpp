// SPDX-License-Identifier: Apache-2.0
// The driver's table where there is no driver, and its errors as our codes.
#include "device/cuda/driver.hpp"

#include <gtest/gtest.h>

#include "device/cuda/error.hpp"

namespace aqua::device {
namespace {

TEST(CudaDriver, WithoutALibraryTheErrorNamesItAndSaysWhatToDo) {
  const auto driver = load_cuda_driver("libcuda-that-nobody-has.so.1");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.error().code, Code::unavailable);
  EXPECT_NE(driver.error().message.find("libcuda-that-nobody-has.so.1"), std::string::npos);
  EXPECT_NE(driver.error().message.find("emu:N"), std::string::npos);
}

TEST(CudaDriver, ALibraryThatIsNoDriverIsNotCalled) {
  const auto driver = load_cuda_driver("libm.so.6");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.error().code, Code::unavailable);
  EXPECT_NE(driver.error().message.find("cuGetProcAddress"), std::string::npos);
}

TEST(CudaDriver, TheSecondAnswerIsTheFirst) {
  const auto first = cuda_driver();
  const auto second = cuda_driver();
  ASSERT_EQ(first.ok(), second.ok());
  if (first.ok()) {
    EXPECT_EQ(*first, *second);
  } else {
    EXPECT_EQ(first.error().message, second.error().message);
  }
}

TEST(CudaError, WhatIsStickyOrMeansDeadMemoryIsDataLoss) {
  for (const CUresult result :
       {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE,
        CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_MPS_RPC_FAILURE, CUDA_ERROR_UNKNOWN}) {
    EXPECT_EQ(code_of(result), Code::data_loss) << result;
  }
}

TEST(CudaError, CodesSayWhatTheCallerDoesNext) {
  EXPECT_EQ(code_of(CUDA_ERROR_OUT_OF_MEMORY), Code::resource_exhausted);
  EXPECT_EQ(code_of(CUDA_ERROR_INVALID_VALUE), Code::invalid_argument);
  EXPECT_EQ(code_of(CUDA_ERROR_NOT_SUPPORTED), Code::unimplemented);
  EXPECT_EQ(code_of(CUDA_ERROR_NOT_PERMITTED), Code::permission_denied);
  EXPECT_EQ(code_of(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT), Code::failed_precondition);
  EXPECT_EQ(code_of(CUDA_ERROR_NO_DEVICE), Code::unavailable);
  EXPECT_EQ(code_of(CUDA_ERROR_PROFILER_DISABLED), Code::internal);
}

}  // namespace
}  // namespace aqua::device
