// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor_place.hpp"

#include <algorithm>
#include <new>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua {
namespace {
constexpr std::size_t kManyUses = 16;  // then those that are over are looked for

}  // namespace

Result<void> TensorPlace::record_use(device::Device& device, Stream stream, bool wrote) noexcept {
  try {
    Use* use = nullptr;
    try {
      use = &use_of(device, stream, wrote);
    } catch (const std::bad_alloc&) {
      // No memory to remember the work by: once it has ended, there is nothing to remember.
      return device.synchronize(stream);
    }
    use->late = true;
    auto settled = settle(device, *use);
    if (use->late) return {};  // it is asked again
    return settled;
  } catch (const std::bad_alloc&) {
    return {};  // no memory for a message; the use is there, and late
  }
}

TensorPlace::Use& TensorPlace::use_of(device::Device& device, Stream stream, bool wrote) {
  const auto use = std::find_if(uses_.begin(), uses_.end(), [&](const Use& u) {
    return u.stream == stream && u.wrote == wrote;
  });
  if (use != uses_.end()) return *use;
  // An engine may use a new stream for each request: forget those that are done.
  if (uses_.size() >= kManyUses) {
    std::erase_if(uses_, [&](Use& u) { return is_over(device, u); });
  }
  return uses_.emplace_back(Use{stream, wrote, nullptr});
}

// Records a late use. It is not recorded on a stream under capture, since an event that the graph
// takes for its own is never reached.
Result<void> TensorPlace::settle(device::Device& device, Use& use) {
  if (!use.late) return {};
  const auto record = [&]() -> Result<void> {
    AQUA_TRY(device.check_stream(use.stream));
    if (use.event == nullptr) {
      AQUA_ASSIGN(use.event, device.create_event());
    }
    return device.record(*use.event, use.stream);
  };
  auto recorded = record();
  use.late = !recorded.ok() && !device::nothing_left(recorded.error().code);
  return recorded;
}

bool TensorPlace::is_over(device::Device& device, Use& use) {
  (void)settle(device, use);  // use.late tells
  if (use.late) return false;
  if (use.event == nullptr) return true;  // its stream is no more, or the device has died
  const auto done = device.query(*use.event);
  if (done.ok()) return *done;
  if (device::nothing_left(done.error().code)) return true;  // failed work touches nothing any more
  use.late = true;  // a capture that began in between has the event
  return false;
}

Result<void> TensorPlace::wait_uses(device::Device& device, Stream stream, bool also_reads) {
  for (Use& use : uses_) {
    if (use.stream == stream || (!use.wrote && !also_reads)) continue;
    if (auto settled = settle(device, use); use.late) {
      return Error{
          settled.error().code,
          concat("earlier work of another stream cannot be waited for: ", settled.error().message)};
    }
    if (use.event != nullptr) AQUA_TRY(device.wait_event(stream, *use.event));
  }
  return {};
}

bool TensorPlace::quiet(device::Device& device) {
  return std::all_of(uses_.begin(), uses_.end(), [&](Use& use) { return is_over(device, use); });
}

void TensorPlace::wait_quiet(device::Device& device) {
  for (Use& use : uses_) {
    (void)settle(device, use);  // use.late tells
    // Waits, and takes an error for an end as well: failed work touches nothing any more.
    if (use.late && device.check_stream(use.stream).ok()) (void)device.synchronize(use.stream);
    if (!use.late && use.event != nullptr) (void)device.synchronize(*use.event);
  }
}

}  // namespace aqua
