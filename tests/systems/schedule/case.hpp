// SPDX-License-Identifier: Apache-2.0
// A policy and how it preempts: what the tests of all policies are repeated for.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "aqua/schedule/options.hpp"

namespace aqua::schedule::test {

struct Case {
  std::string policy;
  PreemptBy preempt_by = PreemptBy::swap;
};

inline void PrintTo(const Case& which, std::ostream* out) {
  constexpr const char* kBy[] = {"_swap", "_recompute", "_cheaper"};
  *out << which.policy << kBy[static_cast<int>(which.preempt_by)];
}

}  // namespace aqua::schedule::test
