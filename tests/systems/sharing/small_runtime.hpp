// SPDX-License-Identifier: Apache-2.0
// Runtimes that publish and read small models, and what tests say of a refusal.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "aqua/result.hpp"
#include "aqua/runtime.hpp"
#include "tests/base/open_emulated.hpp"

namespace aqua::sharing {

// With room for a few small models. `hostile`: as EmulatedGpuOptions::hostile.
[[nodiscard]] inline Runtime open_small(const std::string& device = "emu:0", bool hostile = false,
                                        const std::string& coordinator = "none") {
  return test::open_emulated(32 << 20, 2 << 20, hostile, device, coordinator);
}

// It failed, with this code and these words in its message.
template <typename T>
void expect_refused(const Result<T>& result, Code code, const std::string& words = {}) {
  ASSERT_FALSE(result.ok()) << words;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
}

}  // namespace aqua::sharing
