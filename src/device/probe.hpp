// SPDX-License-Identifier: Apache-2.0
// Whether memory of a device can really be lent and borrowed here: a small slab goes the way
// that every slab goes, inside this process.
//
// Containers, missing rights and old drivers show in the first export or import, not in any
// attribute; a side that fails must not be paired with anybody.
#pragma once

#include "device/device.hpp"

namespace aqua::device {

// Blocks for milliseconds. Takes one granule of the device while it runs.
[[nodiscard]] Result<void> probe_sharing(Device& device);

}  // namespace aqua::device
