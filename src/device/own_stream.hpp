// SPDX-License-Identifier: Apache-2.0
// A stream that its holder has made for itself, and that goes with it.
//
// Threads: one at a time.
#pragma once

#include <cstdio>
#include <optional>
#include <utility>

#include "base/try.hpp"
#include "device/device.hpp"

namespace aqua::device {

class OwnStream {
 public:
  OwnStream() = default;  // none
  // `device` must outlive it.
  [[nodiscard]] static Result<OwnStream> create(Device& device) {
    AQUA_ASSIGN(const Stream stream, device.create_stream());
    return OwnStream(device, stream);
  }
  // Waits for the stream's work; says on stderr what went wrong.
  ~OwnStream() {
    if (!stream_) return;
    if (const auto gone = end(); !gone.ok())
      std::fprintf(stderr, "aqua: stream: %s\n", gone.error().message.c_str());
  }
  OwnStream(OwnStream&& other) noexcept
      : device_(other.device_), stream_(std::exchange(other.stream_, std::nullopt)) {}
  OwnStream& operator=(OwnStream&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(stream_, other.stream_);
    return *this;
  }

  // The stream, which must be there: not none, not ended, not moved from.
  [[nodiscard]] Stream operator*() const noexcept { return *stream_; }

  // The destructor, for who wants to know how it went.
  [[nodiscard]] Result<void> end() {
    const Stream ended = *std::exchange(stream_, std::nullopt);
    return device_->destroy_stream(ended);
  }

 private:
  OwnStream(Device& device, Stream stream) noexcept : device_(&device), stream_(stream) {}

  Device* device_ = nullptr;
  std::optional<Stream> stream_;
};

}  // namespace aqua::device
