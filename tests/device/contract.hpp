// SPDX-License-Identifier: Apache-2.0
// The fixture of the contract suite: one device of each kind, by name.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "aqua/types.hpp"
#include "tests/device/device_kinds.hpp"

namespace aqua::device {

using namespace aqua::literals;

class Contract : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr std::size_t kTotal = 16_MiB;
  const Result<void> available_ = kind_available(GetParam());
  const std::unique_ptr<Device> device_ = available_.ok() ? open_kind(GetParam(), kTotal) : nullptr;
  const std::size_t grain_ = device_ != nullptr ? device_->info().granularity : 0;

  void SetUp() override {
    if (!available_.ok()) GTEST_SKIP() << available_.error().message;
  }
  Stream new_stream() { return device_->create_stream().value(); }
};

template <typename T>
::testing::AssertionResult succeeds(const Result<T>& result) {
  if (result.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << to_string(result.error().code) << ": " << result.error().message;
}

template <typename T>
::testing::AssertionResult fails_with(Code code, const Result<T>& result) {
  if (result.ok()) return ::testing::AssertionFailure() << "succeeded";
  if (result.error().code == code) return ::testing::AssertionSuccess();
  return succeeds(result);
}

#define EXPECT_OK(expr) EXPECT_TRUE(succeeds(expr))
#define EXPECT_CODE(expected, expr) EXPECT_TRUE(fails_with(expected, expr))

// An event of what was posted to the stream so far.
inline std::unique_ptr<Event> recorded(Device& device, Stream stream) {
  auto event = device.create_event().value();
  EXPECT_OK(device.record(*event, stream));
  return event;
}

#define AQUA_CONTRACT_SUITE(suite)                                                  \
  INSTANTIATE_TEST_SUITE_P(EveryDevice, suite, ::testing::ValuesIn(device_kinds()), \
                           [](const auto& test) { return test.param; })
#define AQUA_MEMFD_SUITE(suite)                                                    \
  INSTANTIATE_TEST_SUITE_P(EveryDevice, suite, ::testing::ValuesIn(memfd_kinds()), \
                           [](const auto& test) { return test.param; })

}  // namespace aqua::device
