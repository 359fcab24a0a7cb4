// SPDX-License-Identifier: Apache-2.0
#include "device/device.hpp"

namespace aqua::device {

Result<void> Device::check_stream(Stream stream) const {
  if (!capturing(stream)) return {};
  return Error{Code::failed_precondition, "the stream is being captured into a graph"};
}

}  // namespace aqua::device
