// SPDX-License-Identifier: Apache-2.0
// Tells systemd how the daemon is, where it was started by systemd (sd_notify(3)).
#pragma once

#include <string_view>

namespace aqua::coordinator {

// "READY=1", "STOPPING=1", … to $NOTIFY_SOCKET; nothing where there is none. Never waits.
void notify(std::string_view state);

}  // namespace aqua::coordinator
