// SPDX-License-Identifier: Apache-2.0
// Tests over UCX are skipped where this build has none.
#pragma once

#include <gtest/gtest.h>

#include <string>

// Ends a test of UCX where there is none.
#define AQUA_SKIP_WITHOUT_UCX(choice)                                     \
  do {                                                                    \
    if (!AQUA_COURIER_UCX && (choice) == std::string("ucx")) {            \
      GTEST_SKIP() << "this build is without UCX (AQUA_UCX, libucx-dev)"; \
    }                                                                     \
  } while (false)
