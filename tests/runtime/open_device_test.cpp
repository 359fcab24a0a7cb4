// SPDX-License-Identifier: Apache-2.0
// Which device a name opens, and what is said where it, or its runtime, does not open.
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "device/cuda/device.hpp"
#include "device/cuda/name.hpp"
#include "device/memfd/device.hpp"
#include "runtime/options.hpp"
#include "tests/base/few_threads.hpp"
#include "tests/without_gpus.hpp"

namespace aqua::runtime {
namespace {

void expect_refused(const std::string& name, Code code) {
  const auto opened = open_device({.device = name});
  ASSERT_FALSE(opened.ok()) << name;
  EXPECT_EQ(opened.error().code, code) << name << ": " << opened.error().message;
}

TEST(OpenDevice, EmulatedGpusAreOpenedByNumber) {
  const auto opened = open_device({.device = "emu:7"});
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ((*opened)->info().name, "emu:7");
}

TEST(OpenDevice, HostMemoryIsADeviceThatLendsNothing) {
  const auto opened = open_device({.device = "host"});
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ((*opened)->info().kind, device::Kind::host);
  EXPECT_EQ((*opened)->info().uuid, device::host_uuid());
  EXPECT_TRUE(resolve({.device = "host", .coordinator = "none"}).ok());
  const auto lending = resolve({.device = "host", .coordinator = "unix:/nowhere"});
  ASSERT_FALSE(lending.ok());
  EXPECT_EQ(lending.error().code, Code::invalid_argument);
}

TEST(OpenDevice, WhatIsNoDevicesNameIsRefused) {
  for (const char* name : {"", "emu:", "emu:x", "gpu0", "hosts"}) {
    expect_refused(name, Code::invalid_argument);
  }
}

TEST(OpenDevice, WithoutADriverAGpuIsUnavailableAndTheReasonIsSaid) {
  test::without_gpus([] {
    const auto gpu = device::cuda_available();
    ASSERT_FALSE(gpu.ok());
    expect_refused("cuda:0", gpu.error().code);
    expect_refused("GPU-01234567-89ab-cdef-0123-456789abcdef", gpu.error().code);
  });
}

TEST(OpenDevice, AGpuHasOneUuidUnderBothItsNames) {
  if (const auto gpu = device::cuda_available(); !gpu.ok()) GTEST_SKIP() << gpu.error().message;
  const auto opened = open_device({.device = "cuda:0"});
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ((*opened)->info().kind, device::Kind::cuda);
  EXPECT_FALSE((*opened)->info().driver.empty());
  const auto again = open_device({.device = device::gpu_name((*opened)->info().uuid)});
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ((*again)->info().name, (*opened)->info().name);
}

// It warns that there is nobody to borrow from, and starts the thread of its loop after that.
TEST(OpenRuntime, WithoutAThreadForItsLoopIsRefused) {
  using namespace aqua::literals;
  std::optional<test::FewThreads> none;
  Callbacks callbacks;
  callbacks.on_log = [&](LogLevel, const std::string&) {
    if (!none) none.emplace(0);
  };
  const auto opened = Runtime::open({.device = "emu:0",
                                     .coordinator = "none",
                                     .host_bytes = 64_MiB,
                                     .max_peer_bytes = 64_MiB,
                                     .callbacks = callbacks});
  ASSERT_TRUE(none.has_value());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Code::resource_exhausted) << opened.error().message;
}

}  // namespace
}  // namespace aqua::runtime
