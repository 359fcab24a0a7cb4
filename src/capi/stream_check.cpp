// SPDX-License-Identifier: Apache-2.0
#include "capi/stream_check.hpp"

#include "base/internals.hpp"
#include "base/try.hpp"
#include "capi/convert.hpp"
#include "device/device.hpp"
#include "runtime/impl.hpp"

namespace aqua::capi {

Result<void> check_stream(Runtime& runtime, std::uint64_t runtime_id, aqua_stream stream) {
  struct Seen {
    std::uint64_t runtime = 0;
    aqua_stream stream = 0;
  };
  thread_local Seen last;
  if (stream == 0 || (last.runtime == runtime_id && last.stream == stream)) [[likely]]
    return {};
  device::Device& device = detail::Internals::impl(runtime).device();
  AQUA_ASSIGN(const auto probe, device.create_event());
  AQUA_TRY(device.record(*probe, to_stream(stream)));
  last = {runtime_id, stream};
  return {};
}

}  // namespace aqua::capi
