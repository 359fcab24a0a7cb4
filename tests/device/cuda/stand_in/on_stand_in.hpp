// SPDX-License-Identifier: Apache-2.0
// A CUDA device over the stand-in, and what tests ask of that. Skipped, with the reason, where
// there is no driver or a real one.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "device/cuda/device.hpp"
#include "tests/device/contract.hpp"
#include "tests/device/cuda/stand_in/stand_in.hpp"

namespace aqua::device {

class OnStandIn : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto gpu = cuda_available(); !gpu.ok()) GTEST_SKIP() << gpu.error().message;
    driver_ = stand_in::hooks();
    if (driver_ == nullptr) GTEST_SKIP() << "the driver here is a real one";
    device_ = open_kind("cuda", 16_MiB);
  }
  void TearDown() override {
    if (driver_ != nullptr) driver_->behave({});
  }
  // `count` blocks of 1 KiB that are nobody's neighbours.
  static CopyBatch scattered(std::byte* dst, const std::byte* src, std::size_t count) {
    auto batch = std::make_shared<std::vector<CopySegment>>();
    for (std::size_t i = 0; i < count; ++i)
      batch->push_back({dst + 2'048 * i, src + 2'048 * i, 1'024});
    return batch;
  }

  std::unique_ptr<Device> device_;
  const stand_in::Hooks* driver_ = nullptr;
};

}  // namespace aqua::device
