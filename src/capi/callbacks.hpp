// SPDX-License-Identifier: Apache-2.0
// The engine's C callbacks as the C++ ones that the runtime takes.
#pragma once

#include <cstdint>

#include "aqua/c/options.h"
#include "aqua/runtime.hpp"
#include "capi/call.hpp"

namespace aqua::capi {

[[nodiscard]] Callbacks to_callbacks(const aqua_callbacks& callbacks);

// Code of the engine's runs while one of these lives, called by us on this thread.
class InCallback {
 public:
  InCallback() noexcept { ++depth(); }
  ~InCallback() { --depth(); }
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;
  [[nodiscard]] static bool any() noexcept { return depth() > 0; }

 private:
  [[nodiscard]] static unsigned& depth() noexcept;
};

// failed_precondition within code of the engine's, for which a call that frees might wait. `what`
// names the call.
[[nodiscard]] Result<void> check_may_wait(const char* what);

// Frees what a handle of the table stands for, which may wait as it goes.
template <typename Table>
[[nodiscard]] aqua_error* free_waiting(const char* what, Table& table, std::uint64_t id) noexcept {
  return call([&]() -> Result<void> {
    AQUA_TRY(check_may_wait(what));
    AQUA_ASSIGN(const auto last, table.end(what, id));
    return {};
  });
}

}  // namespace aqua::capi
