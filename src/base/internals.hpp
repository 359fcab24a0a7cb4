// SPDX-License-Identifier: Apache-2.0
// Internals reaches what the public handles hold, and makes handles. They name it their friend, so
// that nothing of it shows in the public headers. Templates: this header knows no type of theirs.
#pragma once

#include <memory>
#include <utility>

namespace aqua::detail {

struct Internals {
  template <typename Handle, typename State>
  [[nodiscard]] static Handle make(std::shared_ptr<State> state) {
    return Handle(std::move(state));
  }
  template <typename Runtime>
  [[nodiscard]] static auto& impl(Runtime& runtime) noexcept {
    return *runtime.impl_;
  }
  // A second handle to the same runtime, which does not keep it open. Stays good when the first
  // one is moved.
  template <typename Runtime>
  [[nodiscard]] static Runtime view(Runtime& runtime) noexcept {
    return Runtime(decltype(runtime.impl_)(std::shared_ptr<void>(), runtime.impl_.get()));
  }
  template <typename Tensor>
  [[nodiscard]] static const auto& entry(const Tensor& tensor) noexcept {
    return tensor.entry_;
  }
};

}  // namespace aqua::detail
