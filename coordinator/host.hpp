// SPDX-License-Identifier: Apache-2.0
// The machine and the life of it that this process runs in.
#pragma once

#include "coordinator/store/store.hpp"

namespace aqua::coordinator {

// The boot id, and the namespaces in which pids and start times are counted.
[[nodiscard]] Host this_host();

}  // namespace aqua::coordinator
