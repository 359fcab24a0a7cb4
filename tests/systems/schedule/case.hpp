// SPDX-License-Identifier: Apache-2.0
// A policy and how it preempts: what the tests of all policies are repeated for.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "aqua/schedule/options.hpp"

namespace aqua::policy::test {

struct Case {
  std::string policy;
  PreemptBy preempt_by = PreemptBy::swap;
};

inline std::string name_of(const ::testing::TestParamInfo<Case>& which) {
  const std::string by[] = {"_swap", "_recompute", "_cheaper"};
  return which.param.policy + by[static_cast<int>(which.param.preempt_by)];
}

}  // namespace aqua::policy::test
