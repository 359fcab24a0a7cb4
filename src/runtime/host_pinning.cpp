#include "runtime/host_pinning.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"

namespace aqua::runtime {

HostPinning::HostPinning(device::Device& device, std::byte* memory, std::size_t bytes,
                         std::size_t piece_bytes, Failed failed)
    : device_(device), failed_(std::move(failed)) {
  for (std::size_t done = 0; done < bytes; done += piece_bytes) {
    queue_.post(
        [this, piece = Piece{memory + done, std::min(piece_bytes, bytes - done)}] { pin(piece); });
  }
}

HostPinning::~HostPinning() {
  queue_.stop();
  for (const Piece& piece : pinned_) (void)device_.unregister_host(piece.memory, piece.bytes);
}

void HostPinning::pin(Piece piece) {
  if (gave_up_) return;
  const auto registered = device_.register_host(piece.memory, piece.bytes);
  if (!registered.ok()) {
    gave_up_ = true;
    return failed_(concat(
        "host tier: ", pinned_bytes_.load(),
        " bytes pinned, the others are not, and slower to copy: ", registered.error().message));
  }
  pinned_.push_back(piece);
  pinned_bytes_ += piece.bytes;
}

}  // namespace aqua::runtime
