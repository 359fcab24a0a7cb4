// SPDX-License-Identifier: Apache-2.0
// A suite whose lender and borrower are two processes with a device of the same kind: in memory on
// every machine, and on its first GPU where there is one. Skipped with the reason where not.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/device/contract.hpp"

namespace aqua::lending {

// For AQUA_CONTRACT_SUITE and AQUA_MEMFD_SUITE.
using device::device_kinds;
using device::memfd_kinds;

class TwoProcesses : public ::testing::TestWithParam<std::string> {
 protected:
  // In place of SetUp(): opens devices, starts processes.
  virtual void begin() = 0;

 private:
  void SetUp() final {
    if (const auto available = device::kind_available(GetParam()); !available.ok())
      GTEST_SKIP() << available.error().message;
    begin();
  }
};

}  // namespace aqua::lending
