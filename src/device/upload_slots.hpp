// SPDX-License-Identifier: Apache-2.0
// Places in a ring of bytes, taken at one end and given back at the other: the arithmetic of
// UploadRing. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

namespace aqua::device {

class UploadSlots {
 public:
  static constexpr std::size_t kAlignment = 256;  // of offsets; sizes are rounded up to it

  explicit UploadSlots(std::size_t bytes) noexcept : bytes_(bytes / kAlignment * kAlignment) {}

  // The offset of `bytes` consecutive ones, or nothing while there are none. Never wraps inside.
  [[nodiscard]] std::optional<std::size_t> take(std::size_t bytes);
  // Gives the oldest place back. There must be one.
  void release_oldest() { places_.pop_front(); }
  [[nodiscard]] std::size_t count() const noexcept { return places_.size(); }

 private:
  struct Place {
    std::size_t offset;
    std::size_t bytes;
  };
  const std::size_t bytes_;
  std::deque<Place> places_;  // oldest first
};

}  // namespace aqua::device
