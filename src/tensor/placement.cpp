#include "tensor/placement.hpp"

#include <algorithm>
#include <new>

#include "base/try.hpp"

namespace aqua {
namespace {
constexpr std::size_t kManyUses = 16;
}

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
  auto use = std::find_if(uses_.begin(), uses_.end(),
                          [&](const Use& u) { return u.stream == stream && u.wrote == wrote; });
  if (use == uses_.end()) {
    // An engine may use a new stream for each request: forget those that are done.
    if (uses_.size() >= kManyUses) {
      std::erase_if(uses_, [&](const Use& u) {
        const auto done = device.query(*u.event);
        return !done.ok() || *done;
      });
    }
    AQUA_ASSIGN(auto event, device.create_event());
    uses_.push_back({stream, wrote, std::move(event)});
    use = std::prev(uses_.end());
  }
  return device.record(*use->event, stream);
}

Result<void> Placement::wait_uses(device::Device& device, Stream stream, bool also_reads) const {
  for (const Use& use : uses_) {
    if (use.stream == stream || (!use.wrote && !also_reads)) continue;
    AQUA_TRY(device.wait_event(stream, *use.event));
  }
  return {};
}

bool Placement::quiet(device::Device& device) const {
  return std::all_of(uses_.begin(), uses_.end(), [&](const Use& use) {
    const auto done = device.query(*use.event);
    return !done.ok() || *done;  // failed work touches nothing any more
  });
}

void Placement::wait_quiet(device::Device& device) const {
  for (const Use& use : uses_) (void)device.synchronize(*use.event);  // an error is an end as well
}

}  // namespace aqua
