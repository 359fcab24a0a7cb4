// SPDX-License-Identifier: Apache-2.0
// The machine and the life of it that this process runs in.
#pragma once

#include <string>

#include "coordinator/store/store.hpp"

namespace aqua::coordinator {

// The boot id, and the namespaces in which pids and start times are counted.
[[nodiscard]] Host this_host();
// What this machine calls itself on the network.
[[nodiscard]] std::string host_name();

}  // namespace aqua::coordinator
