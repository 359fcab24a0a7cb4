#include "tensor/placement.hpp"

#include <algorithm>
#include <new>

#include "base/try.hpp"

namespace aqua {
namespace {
constexpr std::size_t kManyUses = 16;

// Whether a refusal means that there is no work to wait for: the device has died, or the stream
// is no more.
bool is_final(Code code) {
  return code == Code::data_loss || code == Code::invalid_argument;
}

}  // namespace

Result<void> Placement::record_use(device::Device& device, Stream stream, bool wrote) noexcept {
  try {
    try {
      auto recorded = record(device, stream, wrote);
      if (recorded.ok() || recorded.error().code != Code::resource_exhausted) return recorded;
    } catch (const std::bad_alloc&) {
    }
    // No memory to remember the work by: once it has ended, there is nothing to remember.
    return device.synchronize(stream);
  } catch (const std::bad_alloc&) {
    return Error{Code::resource_exhausted, std::string()};  // a message would need memory as well
  }
}

Result<void> Placement::record(device::Device& device, Stream stream, bool wrote) {
  const auto named = device.check_stream(stream);
  // No event could stand for the handle's stream on every thread.
  if (!named.ok() && named.error().code == Code::invalid_argument)
    return device.synchronize(stream);
  auto use = std::find_if(uses_.begin(), uses_.end(),
                          [&](const Use& u) { return u.stream == stream && u.wrote == wrote; });
  if (use == uses_.end()) {
    // An engine may use a new stream for each request: forget those that are done.
    if (uses_.size() >= kManyUses) {
      std::erase_if(uses_, [&](Use& u) { return is_over(device, u); });
    }
    AQUA_ASSIGN(auto event, device.create_event());
    uses_.push_back({stream, wrote, std::move(event)});
    use = std::prev(uses_.end());
  }
  // What a graph under capture took for its own would never be reached.
  use->late = !named.ok();
  if (use->late) return {};
  auto recorded = device.record(*use->event, stream);
  use->late = !recorded.ok() && !is_final(recorded.error().code);
  if (use->late && recorded.error().code != Code::resource_exhausted) return {};
  return recorded;
}

bool Placement::settle(device::Device& device, Use& use) {
  if (!use.late) return true;
  if (device.capturing(use.stream)) return false;
  const auto recorded = device.record(*use.event, use.stream);
  use.late = !recorded.ok() && !is_final(recorded.error().code);
  return !use.late;
}

bool Placement::is_over(device::Device& device, Use& use) {
  if (!settle(device, use)) return false;
  const auto done = device.query(*use.event);
  if (done.ok()) return *done;
  if (is_final(done.error().code)) return true;  // failed work touches nothing any more
  use.late = true;                               // a capture that began in between has the event
  return false;
}

Result<void> Placement::wait_uses(device::Device& device, Stream stream, bool also_reads) {
  for (Use& use : uses_) {
    if (use.stream == stream || (!use.wrote && !also_reads)) continue;
    if (!settle(device, use)) {
      return Error{Code::failed_precondition,
                   "a pin was released on a stream while that was being captured into a graph; "
                   "until the capture has ended, nobody can wait for the work before it"};
    }
    AQUA_TRY(device.wait_event(stream, *use.event));
  }
  return {};
}

bool Placement::quiet(device::Device& device) {
  return std::all_of(uses_.begin(), uses_.end(), [&](Use& use) { return is_over(device, use); });
}

void Placement::wait_quiet(device::Device& device) {
  for (Use& use : uses_) {
    if (settle(device, use)) (void)device.synchronize(*use.event);  // an error is an end as well
  }
}

}  // namespace aqua
