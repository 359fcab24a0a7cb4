// SPDX-License-Identifier: Apache-2.0
// An identifier for a device that has none: the same in every process until the next boot.
#pragma once

#include <string_view>

#include "base/ids.hpp"

namespace aqua::device {

// From this boot's id and the device's name. Not a secret.
[[nodiscard]] DeviceUuid boot_uuid(std::string_view device_name);

}  // namespace aqua::device
