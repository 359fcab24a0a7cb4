// SPDX-License-Identifier: Apache-2.0
// Each allocation that a call of the C ABI makes is made to fail, one after the other.
#pragma once

#include <cstdio>
#include <functional>

#include "tests/capi/capi_fixture.hpp"
#include "tests/capi/failing_new.hpp"

namespace aqua::test {

using Call = std::function<aqua_error*()>;

// `prepare` and `undo` have all the memory they want; undo(true) follows a call that succeeded. A
// call may say `otherwise` in place of resource_exhausted. Of a call that takes long only each
// `stride`th allocation fails. `how`: that allocation alone, or all that follow it, too.
inline void fail_each(const char* what, const Call& call, const std::function<void()>& prepare = {},
                      const std::function<void(bool ok)>& undo = {},
                      aqua_code otherwise = AQUA_RESOURCE_EXHAUSTED, std::size_t stride = 1,
                      Failing how = Failing::once) {
  constexpr std::size_t kMost = 2000;
  std::size_t refused = 0;
  for (std::size_t n = 0; n < kMost; n += stride) {
    if (prepare) prepare();
    bool failed = false;
    aqua_error* error = nullptr;
    {
      const FailingNew failing(n, how);
      error = call();
      failed = failing.failed();
    }
    const std::string message = aqua_error_message(error);
    const aqua_code code = code_of(error);
    EXPECT_TRUE(code == AQUA_OK ||
                (failed && (code == AQUA_RESOURCE_EXHAUSTED || code == otherwise)))
        << what << ", allocation " << n << ": " << aqua_code_name(code) << ": " << message;
    refused += code == AQUA_OK ? 0U : 1U;
    if (undo) undo(code == AQUA_OK);
    if (failed) continue;
    EXPECT_EQ(code, AQUA_OK) << what << ": " << message;
    std::printf("%-28s %zu allocations, %zu refusals\n", what, n, refused);
    return;
  }
  ADD_FAILURE() << what << " allocates without end";
}
inline void freed(aqua_error* error) {
  EXPECT_EQ(code_of(error), AQUA_OK);
}

}  // namespace aqua::test
