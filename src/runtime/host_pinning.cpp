// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_pinning.hpp"

#include <utility>

#include "base/concat.hpp"

namespace aqua::runtime {

HostPinning::HostPinning(device::Device& device, const std::vector<std::span<std::byte>>& pieces,
                         Failed failed)
    : device_(device), failed_(std::move(failed)) {
  for (const std::span<std::byte> piece : pieces) {
    queue_.post([this, piece] { pin(piece); });
  }
}

HostPinning::~HostPinning() {
  queue_.stop();
  for (const auto piece : pinned_) (void)device_.unregister_host(piece.data(), piece.size());
}

void HostPinning::pin(std::span<std::byte> piece) {
  if (gave_up_) return;
  const auto registered = device_.register_host(piece.data(), piece.size());
  if (!registered.ok()) {
    gave_up_ = true;
    return failed_(concat(
        "host tier: ", pinned_bytes_.load(),
        " bytes pinned, the others are not, and slower to copy: ", registered.error().message));
  }
  pinned_.push_back(piece);
  pinned_bytes_ += piece.size();
}

}  // namespace aqua::runtime
