// SPDX-License-Identifier: Apache-2.0
// TensorPlace: a range of one Space that a tensor occupies, with who pins it and the last use
// by each stream. The range is freed when the TensorPlace is destroyed, so whoever destroys
// it has seen its uses complete (DeferredFrees does).
//
// Threads: guarded by the lock of the TensorEntry it belongs to, then by DeferredFrees's.
#pragma once

#include <memory>
#include <vector>

#include "aqua/types.hpp"
#include "device/device.hpp"
#include "tensor/space.hpp"

namespace aqua::detail {

class TensorPlace {
 public:
  TensorPlace(tensor::Space& space, const lending::Allocation& allocation)
      : space_(space), allocation_(allocation), address_(space.address(allocation)) {}
  ~TensorPlace() { space_.free(allocation_); }
  TensorPlace(const TensorPlace&) = delete;
  TensorPlace& operator=(const TensorPlace&) = delete;

  [[nodiscard]] std::byte* address() const noexcept { return address_; }
  [[nodiscard]] Tier tier() const noexcept { return space_.tier(); }
  [[nodiscard]] tensor::Space& space() const noexcept { return space_; }
  [[nodiscard]] const lending::Allocation& allocation() const noexcept { return allocation_; }

  // Records that the work posted to `stream` so far uses this place; without memory for that,
  // awaits it. Where the device refuses for now, as on a stream that is being captured, it is
  // recorded when it is next asked for, and until then the place is not quiet: the stream must live
  // as long. data_loss when the device has died, invalid_argument when the stream is no more: that
  // has no work left. Nothing is thrown.
  [[nodiscard]] Result<void> record_use(device::Device& device, Stream stream, bool wrote) noexcept;
  // Makes `stream` wait for earlier uses by other streams: the writes, or all of them.
  // While one of these cannot be recorded: the error with which it is refused.
  [[nodiscard]] Result<void> wait_uses(device::Device& device, Stream stream, bool also_reads);
  // True once every use has completed (or failed): the memory is quiet.
  [[nodiscard]] bool quiet(device::Device& device);
  // Blocks until quiet, but for work on a stream that is being captured.
  void wait_quiet(device::Device& device);

  unsigned read_pins = 0;
  unsigned write_pins = 0;
  bool retired = false;  // its tensor has left; goes to DeferredFrees with its last pin
  // PlaceList's own.
  bool listed = false;
  std::shared_ptr<TensorPlace> next_listed;

 private:
  struct Use {
    Stream stream;
    bool wrote = false;
    std::unique_ptr<device::Event> event;
    bool late = false;  // its last work is not recorded yet
  };
  [[nodiscard]] Use& use_of(device::Device& device, Stream stream, bool wrote);
  // Records what could not be when it was released; still late: the error says why.
  [[nodiscard]] static Result<void> settle(device::Device& device, Use& use);
  [[nodiscard]] static bool is_over(device::Device& device, Use& use);

  tensor::Space& space_;
  const lending::Allocation allocation_;
  std::byte* const address_;
  std::vector<Use> uses_;  // one a stream and kind; few
};

}  // namespace aqua::detail

namespace aqua {
using detail::TensorPlace;
}  // namespace aqua
