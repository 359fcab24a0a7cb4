#include "tensor/placement.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "base/try.hpp"

namespace aqua {
namespace {
constexpr std::size_t kManyUses = 16;
}

Result<void> Placement::record_use(device::Device& device, Stream stream, bool wrote) noexcept {
  // Releases come here, which cannot fail: memory that is short now is there again in a moment.
  constexpr int kTries = 200;
  for (int i = 0; i < kTries; ++i) {
    try {
      return record(device, stream, wrote);
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(i == 0 ? 0 : 5));
    }
  }
  return Error{Code::resource_exhausted, std::string()};  // a message would need memory as well
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
