// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "device/cuda/ipc.hpp"
#include "tests/device/contract.hpp"

namespace aqua::device {
namespace {

constexpr IpcFacts kPlain{.known = true, .capable = true, .left = 1'000};

void expect_refused(const IpcFacts& facts, const std::string& says) {
  const auto checked = check_ipc(facts, 1'000);
  EXPECT_CODE(Code::failed_precondition, checked);
  EXPECT_NE(checked.error().message.find(says), std::string::npos) << checked.error().message;
}

TEST(IpcCheck, PlainDeviceMemoryMayBeShared) {
  EXPECT_OK(check_ipc(kPlain, 1));
  EXPECT_OK(check_ipc(kPlain, 1'000));
}

TEST(IpcCheck, ARangeMustLieInItsAllocation) {
  EXPECT_CODE(Code::invalid_argument, check_ipc(kPlain, 0));
  EXPECT_CODE(Code::invalid_argument, check_ipc(kPlain, 1'001));
}

TEST(IpcCheck, WhatCannotBeSharedIsRefusedWithTheReasonAndTheWayOut) {
  IpcFacts facts = kPlain;
  facts.capable = false;
  expect_refused(facts, "expandable_segments:False");
  facts.pooled = true;
  expect_refused(facts, "cudaMallocAsync");
  facts.host = true;
  expect_refused(facts, "host memory");
  facts.managed = true;
  expect_refused(facts, "cudaMallocManaged");
  expect_refused({}, "does not know");
}

}  // namespace
}  // namespace aqua::device
