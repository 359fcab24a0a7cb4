// SPDX-License-Identifier: Apache-2.0
// Fd owns one file descriptor. Threads: not thread-safe.
#pragma once

#include <unistd.h>

#include <utility>

namespace aqua::example {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int raw) noexcept : raw_(raw) {}
  Fd(Fd&& other) noexcept : raw_(std::exchange(other.raw_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Fd() { reset(); }

  [[nodiscard]] int get() const noexcept { return raw_; }
  [[nodiscard]] bool valid() const noexcept { return raw_ >= 0; }
  void reset() noexcept {
    if (raw_ >= 0) (void)::close(std::exchange(raw_, -1));
  }

 private:
  int raw_ = -1;
};

}  // namespace aqua::example
