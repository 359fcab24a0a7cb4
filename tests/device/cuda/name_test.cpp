// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/name.hpp"

#include <gtest/gtest.h>

namespace aqua::device {
namespace {

constexpr const char* kUuid = "GPU-0123abcd-4567-89ab-cdef-0123456789ab";

TEST(CudaName, AnOrdinalIsANumberAndNothingElse) {
  EXPECT_EQ(parse_cuda_name("cuda:0").value(), CudaName(0));
  EXPECT_EQ(parse_cuda_name("cuda:17").value(), CudaName(17));
  for (const char* name :
       {"cuda:", "cuda:-1", "cuda:x", "cuda:1x", "cuda: 1", "cuda:99999999999"}) {
    const auto parsed = parse_cuda_name(name);
    ASSERT_FALSE(parsed.ok()) << name;
    EXPECT_EQ(parsed.error().code, Code::invalid_argument) << name;
  }
}

TEST(CudaName, AUuidIsReadAsNvidiaSmiPrintsIt) {
  const auto parsed = parse_cuda_name(kUuid);
  ASSERT_TRUE(parsed.ok());
  const auto uuid = std::get<DeviceUuid>(*parsed);
  EXPECT_EQ(uuid.bytes[0], 0x01);
  EXPECT_EQ(uuid.bytes[15], 0xab);
  EXPECT_EQ(gpu_name(uuid), kUuid);
  EXPECT_EQ(parse_cuda_name("GPU-0123ABCD-4567-89AB-CDEF-0123456789AB").value(), CudaName(uuid));
}

TEST(CudaName, AnInstanceOfAPartitionedGpuHasAUuidOfItsOwn) {
  const auto parsed = parse_cuda_name("MIG-0123abcd-4567-89ab-cdef-0123456789ab");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(gpu_name(std::get<DeviceUuid>(*parsed)), kUuid);
}

TEST(CudaName, WhatIsNoUuidIsRefused) {
  for (const char* name :
       {"GPU-", "GPU-0123abcd", "GPU-0123abcd-4567-89ab-cdef-0123456789a",
        "GPU-0123abcd-4567-89ab-cdef-0123456789abc", "GPU-0123abcd4567-89ab-cdef-0123-456789ab",
        "GPU-0123abcg-4567-89ab-cdef-0123456789ab", "MIG-0123abcd-4567-89ab-cdef",
        "cuda-0123abcd-4567-89ab-cdef-0123456789ab"}) {
    const auto parsed = parse_cuda_name(name);
    ASSERT_FALSE(parsed.ok()) << name;
    EXPECT_EQ(parsed.error().code, Code::invalid_argument) << name;
  }
}

TEST(CudaName, OnlyNamesOfGpusAreTakenForSome) {
  EXPECT_TRUE(is_cuda_name("cuda:0"));
  EXPECT_TRUE(is_cuda_name(kUuid));
  EXPECT_TRUE(is_cuda_name("cuda:nonsense"));
  EXPECT_FALSE(is_cuda_name("emu:0"));
}

}  // namespace
}  // namespace aqua::device
