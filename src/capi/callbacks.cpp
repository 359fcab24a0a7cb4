// SPDX-License-Identifier: Apache-2.0
#include "capi/callbacks.hpp"

#include <algorithm>
#include <vector>

#include "capi/convert.hpp"

namespace aqua::capi {
namespace {

static_assert(static_cast<aqua_log_level>(LogLevel::info) == AQUA_LOG_INFO);
static_assert(static_cast<aqua_log_level>(LogLevel::warning) == AQUA_LOG_WARNING);
static_assert(static_cast<aqua_log_level>(LogLevel::error) == AQUA_LOG_ERROR);

void pins_wanted(const aqua_callbacks& c, const std::vector<PinnedTensor>& pinned,
                 std::chrono::steady_clock::time_point deadline) {
  std::vector<aqua_pinned_tensor> tensors;
  tensors.reserve(pinned.size());
  for (const PinnedTensor& tensor : pinned) {
    tensors.push_back({sizeof(aqua_pinned_tensor), tensor.id, tensor.name.c_str(),
                       static_cast<std::uint64_t>(tensor.age.count()), tensor.read_pins,
                       tensor.write_pins});
  }
  std::vector<const aqua_pinned_tensor*> pointers;
  pointers.reserve(tensors.size());
  for (const auto& tensor : tensors) pointers.push_back(&tensor);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  const InCallback here;
  c.on_pins_wanted(c.user, pointers.data(), pointers.size(),
                   static_cast<std::uint64_t>(std::max(left.count(), decltype(left)::rep{0})));
}

}  // namespace

Result<void> check_may_wait(const char* what) {
  if (!InCallback::any()) return {};
  return Error{Code::failed_precondition,
               concat(what, ": not from a callback or kernel, which it might wait for")};
}

unsigned& InCallback::depth() noexcept {
  thread_local unsigned depth = 0;
  return depth;
}

Callbacks to_callbacks(const aqua_callbacks& c) {
  Callbacks callbacks;
  if (c.on_budget != nullptr) {
    callbacks.on_budget = [c](const MemoryBudget& budget) {
      const aqua_memory_budget told = to_c(budget);
      const InCallback here;
      c.on_budget(c.user, &told);
    };
  }
  if (c.on_data_loss != nullptr) {
    callbacks.on_data_loss = [c](std::uint64_t id, const std::string& name) {
      const InCallback here;
      c.on_data_loss(c.user, id, name.c_str());
    };
  }
  if (c.on_pins_wanted != nullptr) {
    callbacks.on_pins_wanted = [c](const std::vector<PinnedTensor>& pinned, auto deadline) {
      pins_wanted(c, pinned, deadline);
    };
  }
  if (c.on_log != nullptr) {
    callbacks.on_log = [c](LogLevel level, const std::string& text) {
      const InCallback here;
      c.on_log(c.user, static_cast<aqua_log_level>(level), text.c_str());
    };
  }
  return callbacks;
}

}  // namespace aqua::capi
