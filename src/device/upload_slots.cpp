// SPDX-License-Identifier: Apache-2.0
#include "device/upload_slots.hpp"

namespace aqua::device {

std::optional<std::size_t> UploadSlots::take(std::size_t bytes) {
  if (bytes == 0 || bytes > bytes_) return std::nullopt;
  const std::size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  std::size_t offset = 0;
  if (!places_.empty()) {
    const std::size_t tail = places_.front().offset;
    const std::size_t head = places_.back().offset + places_.back().bytes;
    const bool wrapped = places_.back().offset < tail;
    if (wrapped) {
      if (size > tail - head) return std::nullopt;
      offset = head;
    } else if (size <= bytes_ - head) {
      offset = head;
    } else if (size > tail) {
      return std::nullopt;
    }
  }
  places_.push_back({offset, size});
  return offset;
}

}  // namespace aqua::device
